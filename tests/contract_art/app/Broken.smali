# A class whose initializer throws.
.class public LBroken;
.super Ljava/lang/Object;
.field public static value:I = 0x7

.method static constructor <clinit>()V
    .locals 2
    const/4 v0, 0x0
    const/4 v1, 0x1
    div-int v0, v1, v0
    sput v0, LBroken;->value:I
    return-void
.end method
