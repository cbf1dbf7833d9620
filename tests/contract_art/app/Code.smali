# Code that computes, throws and catches. Each method tests one kind of instruction or one rule.
.class public LCode;
.super LShape;
.implements Ljava/lang/Runnable;
.field public static final NUMBER:I = 0x12345678
.field public static final SMALL:B = -0x2t
.field public static final LONG:J = -0x123456789abcdefL
.field public static final HALF:D = 0.5
.field public static final TEXT:Ljava/lang/String; = "text"
.field public static ran:I
.field public z:Z
.field public b:B
.field public c:C
.field public s:S
.field public i:I
.field public j:J
.field public f:F
.field public o:Ljava/lang/Object;

.method public constructor <init>()V
    .locals 0
    invoke-direct {p0}, LShape;-><init>()V
    return-void
.end method

.method public area()I
    .locals 1
    const/16 v0, 0x11
    return v0
.end method

.method public run()V
    .locals 1
    sget v0, LCode;->ran:I
    add-int/lit8 v0, v0, 0x1
    sput v0, LCode;->ran:I
    return-void
.end method

# Every operation of two ints, also with literals. The results are combined by exclusive or and rotation.
.method public static ints(II)I
    .locals 4
    add-int v0, p0, p1
    mul-int/lit8 v0, v0, 0x1f
    sub-int v1, p0, p1
    xor-int/2addr v0, v1
    mul-int v1, p0, p1
    add-int/2addr v0, v1
    div-int v1, p0, p1
    sub-int/2addr v0, v1
    rem-int v1, p0, p1
    or-int/2addr v0, v1
    and-int v1, p0, p1
    xor-int/2addr v0, v1
    shl-int v1, p0, p1
    add-int/2addr v0, v1
    shr-int v1, p0, p1
    xor-int/2addr v0, v1
    ushr-int v1, p0, p1
    xor-int/2addr v0, v1
    rsub-int v1, p0, 0x1234
    add-int/2addr v0, v1
    rsub-int/lit8 v1, p1, -0x5
    xor-int/2addr v0, v1
    div-int/lit8 v1, p0, -0x3
    add-int/2addr v0, v1
    rem-int/lit16 v1, p0, 0x3e8
    xor-int/2addr v0, v1
    neg-int v1, p0
    add-int/2addr v0, v1
    not-int v1, p1
    xor-int/2addr v0, v1
    int-to-byte v1, p0
    add-int/2addr v0, v1
    int-to-char v1, p0
    add-int/2addr v0, v1
    int-to-short v1, p0
    add-int/2addr v0, v1
    return v0
.end method

.method public static longs(JJ)J
    .locals 6
    add-long v0, p0, p2
    sub-long v2, p0, p2
    xor-long/2addr v0, v2
    mul-long v2, p0, p2
    add-long/2addr v0, v2
    div-long v2, p0, p2
    sub-long/2addr v0, v2
    rem-long v2, p0, p2
    xor-long/2addr v0, v2
    long-to-int v4, p2
    shl-long v2, p0, v4
    add-long/2addr v0, v2
    shr-long v2, p0, v4
    xor-long/2addr v0, v2
    ushr-long v2, p0, v4
    add-long/2addr v0, v2
    neg-long v2, p0
    xor-long/2addr v0, v2
    cmp-long v4, p0, p2
    int-to-long v2, v4
    add-long/2addr v0, v2
    return-wide v0
.end method

# Returns 0 when an expression of the first two arguments has the value of the third.
.method public static doubles(DDD)I
    .locals 5
    add-double v0, p0, p2
    mul-double/2addr v0, p0
    sub-double/2addr v0, p2
    div-double/2addr v0, p2
    rem-double v2, p0, p2
    add-double/2addr v0, v2
    cmpl-double v4, v0, p4
    return v4
.end method

.method public static floats(FFF)I
    .locals 2
    add-float v0, p0, p1
    mul-float/2addr v0, p0
    div-float/2addr v0, p1
    rem-float v1, p0, p1
    sub-float/2addr v0, v1
    cmpl-float v1, v0, p2
    return v1
.end method

.method public static toInt(D)I
    .locals 1
    double-to-int v0, p0
    return v0
.end method

.method public static toLong(D)J
    .locals 2
    double-to-long v0, p0
    return-wide v0
.end method

# Returns ten times the result of cmpl plus that of cmpg.
.method public static order(DD)I
    .locals 2
    cmpl-double v0, p0, p2
    mul-int/lit8 v0, v0, 0xa
    cmpg-double v1, p0, p2
    add-int/2addr v0, v1
    return v0
.end method

.method public static packed(I)I
    .locals 1
    packed-switch p0, :table
    const/4 v0, -0x1
    return v0
    :first
    const/16 v0, 0x64
    return v0
    :second
    const/16 v0, 0x65
    return v0
    :table
    .packed-switch -0x1
        :first
        :second
        :first
    .end packed-switch
.end method

.method public static sparse(I)I
    .locals 1
    sparse-switch p0, :table
    const/4 v0, -0x1
    return v0
    :first
    const/16 v0, 0x64
    return v0
    :second
    const/16 v0, 0x65
    return v0
    :table
    .sparse-switch
        -0x7fffffff -> :first
        0x10 -> :second
        0x7fffffff -> :first
    .end sparse-switch
.end method

# Returns an element of a filled array. The first argument selects the width of an element: 1, 2, 4 or 8 bytes.
.method public static element(II)J
    .locals 4
    packed-switch p0, :widths
    const/4 v0, 0x4
    new-array v1, v0, [J
    fill-array-data v1, :longs
    aget-wide v0, v1, p1
    return-wide v0
    :w1
    const/4 v0, 0x4
    new-array v1, v0, [B
    fill-array-data v1, :bytes
    aget-byte v0, v1, p1
    int-to-long v0, v0
    return-wide v0
    :w2
    const/4 v0, 0x4
    new-array v1, v0, [C
    fill-array-data v1, :chars
    aget-char v0, v1, p1
    int-to-long v0, v0
    return-wide v0
    :w4
    const/4 v0, 0x4
    new-array v1, v0, [I
    fill-array-data v1, :ints
    aget v0, v1, p1
    int-to-long v0, v0
    return-wide v0
    :widths
    .packed-switch 0x1
        :w1
        :w2
        :w4
    .end packed-switch
    :bytes
    .array-data 1
        0x1t
        -0x2t
        0x7ft
        -0x80t
    .end array-data
    :chars
    .array-data 2
        0x1s
        0xfffes
        0x7fffs
        0x8000s
    .end array-data
    :ints
    .array-data 4
        0x1
        -0x2
        0x7fffffff
        -0x80000000
    .end array-data
    :longs
    .array-data 8
        0x1L
        -0x2L
        0x7fffffffffffffffL
        -0x8000000000000000L
    .end array-data
.end method

# Stores values in fields of each type and reads them back; each is converted to the field's type.
.method public static fields(IJF)J
    .locals 6
    new-instance v0, LCode;
    invoke-direct {v0}, LCode;-><init>()V
    iput-byte p0, v0, LCode;->b:B
    iput-char p0, v0, LCode;->c:C
    iput-short p0, v0, LCode;->s:S
    iput p0, v0, LCode;->i:I
    iput-wide p1, v0, LCode;->j:J
    iput p3, v0, LCode;->f:F
    iput-object v0, v0, LCode;->o:Ljava/lang/Object;
    iget-wide v1, v0, LCode;->j:J
    iget-byte v3, v0, LCode;->b:B
    int-to-long v4, v3
    add-long/2addr v1, v4
    iget-char v3, v0, LCode;->c:C
    int-to-long v4, v3
    add-long/2addr v1, v4
    iget-short v3, v0, LCode;->s:S
    int-to-long v4, v3
    add-long/2addr v1, v4
    iget v3, v0, LCode;->i:I
    int-to-long v4, v3
    add-long/2addr v1, v4
    iget v3, v0, LCode;->f:F
    float-to-long v4, v3
    add-long/2addr v1, v4
    return-wide v1
.end method

# Calls a class's own method, a method of an interface, an abstract method, and a method of the superclass.
.method public static calls()I
    .locals 3
    const/4 v0, 0x0
    sput v0, LCode;->ran:I
    new-instance v0, LCode;
    invoke-direct {v0}, LCode;-><init>()V
    invoke-interface {v0}, Ljava/lang/Runnable;->run()V
    invoke-virtual {v0}, LCode;->run()V
    invoke-virtual {v0}, LShape;->area()I
    move-result v1
    sget v2, LCode;->ran:I
    mul-int/lit8 v2, v2, 0x64
    add-int/2addr v1, v2
    invoke-virtual {v0, v0}, Ljava/lang/Object;->equals(Ljava/lang/Object;)Z
    move-result v2
    mul-int/lit16 v2, v2, 0x3e8
    add-int/2addr v1, v2
    return v1
.end method

# Tests instance-of: 1 own class, 2 superclass, 4 interface, 8 array of objects, 16 null is an instance of no class.
.method public static types()I
    .locals 4
    new-instance v0, LCode;
    invoke-direct {v0}, LCode;-><init>()V
    instance-of v1, v0, LCode;
    instance-of v2, v0, LShape;
    shl-int/lit8 v2, v2, 0x1
    or-int/2addr v1, v2
    instance-of v2, v0, Ljava/lang/Runnable;
    shl-int/lit8 v2, v2, 0x2
    or-int/2addr v1, v2
    const/4 v3, 0x1
    new-array v3, v3, [LCode;
    instance-of v2, v3, [Ljava/lang/Object;
    shl-int/lit8 v2, v2, 0x3
    or-int/2addr v1, v2
    const/4 v3, 0x0
    instance-of v2, v3, Ljava/lang/Object;
    xor-int/lit8 v2, v2, 0x1
    shl-int/lit8 v2, v2, 0x4
    or-int/2addr v1, v2
    return v1
.end method

# Throws an exception that it does not catch, by: 0 an index, 1 a store, 2 a cast, 3 a length, 4 a field of null,
# 5 a division by zero, 6 a monitor of null, 7 an array that is null, 8 throw null.
.method public static fault(I)V
    .locals 4
    const/4 v0, 0x2
    new-array v1, v0, [LSquare;
    const/4 v2, 0x0
    packed-switch p0, :kinds
    return-void
    :index
    aput-object v2, v1, v0
    return-void
    :store
    new-instance v3, LCode;
    invoke-direct {v3}, LCode;-><init>()V
    aput-object v3, v1, v2
    return-void
    :cast
    new-instance v3, LCode;
    invoke-direct {v3}, LCode;-><init>()V
    check-cast v3, LSquare;
    return-void
    :length
    const/4 v0, -0x1
    new-array v1, v0, [I
    return-void
    :field
    const/4 v3, 0x0
    iget v0, v3, LCode;->i:I
    return-void
    :zero
    rem-int/2addr v0, v2
    return-void
    :monitor
    const/4 v3, 0x0
    monitor-enter v3
    return-void
    :array
    const/4 v3, 0x0
    array-length v0, v3
    return-void
    :nothing
    const/4 v3, 0x0
    throw v3
    :kinds
    .packed-switch 0x0
        :index
        :store
        :cast
        :length
        :field
        :zero
        :monitor
        :array
        :nothing
    .end packed-switch
.end method

# Catches it: 1 by a superclass of its class, 2 by a catch-all handler that throws it again, 4 by the caller of that.
.method public static caught(I)I
    .locals 2
    const/4 v0, 0x0
    :a
    invoke-static {p0}, LCode;->fault(I)V
    :b
    return v0
    :h
    const/4 v0, 0x1
    :c
    invoke-static {p0}, LCode;->through(I)V
    :d
    return v0
    :k
    move-exception v1
    or-int/lit8 v0, v0, 0x4
    return v0
    .catch Ljava/lang/Error; {:a .. :b} :k
    .catch Ljava/lang/RuntimeException; {:a .. :b} :h
    .catch Ljava/lang/Throwable; {:c .. :d} :k
.end method

.method public static through(I)V
    .locals 1
    :a
    invoke-static {p0}, LCode;->fault(I)V
    :b
    return-void
    :all
    move-exception v0
    throw v0
    .catchall {:a .. :b} :all
.end method

# Throws from a synchronized method.
.method public synchronized held(I)V
    .locals 0
    invoke-static {p1}, LCode;->fault(I)V
    return-void
.end method

# The initial values of static fields, the length of a string, and its identity with the same literal in code.
.method public static constants()J
    .locals 5
    sget-wide v0, LCode;->LONG:J
    sget v2, LCode;->NUMBER:I
    int-to-long v2, v2
    add-long/2addr v0, v2
    sget-byte v2, LCode;->SMALL:B
    int-to-long v2, v2
    add-long/2addr v0, v2
    sget-wide v2, LCode;->HALF:D
    add-double/2addr v2, v2
    double-to-long v2, v2
    add-long/2addr v0, v2
    sget-object v2, LCode;->TEXT:Ljava/lang/String;
    invoke-virtual {v2}, Ljava/lang/String;->length()I
    move-result v3
    const-string v4, "text"
    if-ne v2, v4, :other
    add-int/lit8 v3, v3, 0x64
    :other
    int-to-long v2, v3
    add-long/2addr v0, v2
    return-wide v0
.end method

# A string of ASCII and other characters: its length, one of its chars, and a comparison.
.method public static text()I
    .locals 4
    const-string v0, "a\u00fc"
    const-string v1, "\u4e2d"
    invoke-virtual {v0, v1}, Ljava/lang/String;->concat(Ljava/lang/String;)Ljava/lang/String;
    move-result-object v0
    invoke-virtual {v0}, Ljava/lang/String;->length()I
    move-result v2
    const v3, 0x10000
    mul-int/2addr v2, v3
    const/4 v3, 0x2
    invoke-virtual {v0, v3}, Ljava/lang/String;->charAt(I)C
    move-result v3
    add-int/2addr v2, v3
    invoke-virtual {v0, v1}, Ljava/lang/String;->compareTo(Ljava/lang/String;)I
    move-result v3
    add-int/2addr v2, v3
    return v2
.end method

.method public static broken()I
    .locals 1
    sget v0, LBroken;->value:I
    return v0
.end method
