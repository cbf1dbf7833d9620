#!/usr/bin/env python3
"""mkboot.py - write smali for the smallest boot class path that genuine libart
(Android 11 or 14) accepts.  Nothing here comes from libcore: classes are skeletons
whose field names/types give the layout the runtime's mirrors expect, whose
virtual-method counts give the class sizes it preallocates, and whose members
are the ones it looks up by name at start-up (boot-members-N.txt).

usage: mkboot.py 11|14 boot-members-N.txt OUTDIR
"""
import os, sys

release, members_file, outdir = int(sys.argv[1]), sys.argv[2], sys.argv[3]
V = lambda v11, v14: v11 if release == 11 else v14
OBJ, STR, CLS = 'Ljava/lang/Object;', 'Ljava/lang/String;', 'Ljava/lang/Class;'
J = lambda n: 'Ljava/lang/%s;' % n
classes = {}                       # descriptor -> Cls

class Cls:
    def __init__(self, d, sup=OBJ, flags='public', ifs=()):
        self.d, self.sup, self.flags, self.ifs = d, sup, flags, list(ifs)
        self.fields, self.methods, self.pad_virtual = {}, {}, None
        classes[d] = self
    def f(self, spec, static=False, flags='public'):
        for item in spec.split():
            n, t = item.split(':')
            self.fields[(n, static)] = (t, flags)
        return self
    def m(self, name, sig, flags='public', body=None, fast=False):
        self.methods[(name, sig)] = (flags, body, fast)
        return self

def args(sig):
    a, i, out = sig[1:sig.index(')')], 0, []
    while i < len(a):
        j = i
        while a[j] == '[': j += 1
        j = a.index(';', j) + 1 if a[j] == 'L' else j + 1
        out.append(a[i:j]); i = j
    return out

def words(sig): return sum(2 if t in 'JD' else 1 for t in args(sig))

def default_body(sig):
    r = sig[sig.index(')') + 1:]
    if r == 'V': return 'return-void'
    if r in 'JD': return 'const-wide/16 v0, 0x0\n    return-wide v0'
    if r in 'ZBCSIF': return 'const/4 v0, 0x0\n    return v0'
    return 'const/4 v0, 0x0\n    return-object v0'

# ---- the classes whose shape matters --------------------------------------
o = Cls(OBJ, None)
o.f('shadow$_klass_:%s shadow$_monitor_:I' % CLS, flags='private')
o.m('<init>', '()V', 'public constructor', 'return-void')
for n, s, fl in (('clone', '()'+OBJ, 'protected'), ('equals', '('+OBJ+')Z', 'public'),
                 ('finalize', '()V', 'protected'), ('getClass', '()'+CLS, 'public final'),
                 ('hashCode', '()I', 'public'), ('toString', '()'+STR, 'public'),
                 ('wait', '()V', 'public final'), ('wait', '(J)V', 'public final')):
    o.m(n, s, fl)
o.m('equals', '('+OBJ+')Z', 'public', 'if-ne p0, p1, :no\n    const/4 v0, 0x1\n    return v0\n    :no\n    const/4 v0, 0x0\n    return v0')
o.m('getClass', '()'+CLS, 'public final', 'iget-object v0, p0, %s->shadow$_klass_:%s\n    return-object v0' % (OBJ, CLS))
o.m('hashCode', '()I', 'public', 'invoke-static {p0}, %s->identityHashCodeNative(%s)I\n    move-result v0\n    return v0' % (OBJ, OBJ))
o.m('wait', '()V', 'public final', 'const-wide/16 v0, 0x0\n    const/4 v2, 0x0\n    invoke-virtual {p0, v0, v1, v2}, %s->wait(JI)V\n    return-void' % OBJ)
o.m('wait', '(J)V', 'public final', 'const/4 v0, 0x0\n    invoke-virtual {p0, p1, p2, v0}, %s->wait(JI)V\n    return-void' % OBJ)

for i in ('java/lang/Cloneable java/io/Serializable java/lang/Runnable java/lang/Comparable java/lang/CharSequence '
          'java/util/List java/util/function/Consumer java/lang/annotation/Annotation '
          'java/lang/reflect/InvocationHandler java/lang/reflect/Member '
          'dalvik/annotation/optimization/FastNative dalvik/annotation/optimization/CriticalNative').split():
    Cls('L%s;' % i, flags='public abstract interface')
classes['Ljava/util/function/Consumer;'].m('accept', '('+OBJ+')V', 'public abstract', '')
classes['Ljava/lang/Runnable;'].m('run', '()V', 'public abstract', '')
for i in ('FastNative', 'CriticalNative'):
    c = classes['Ldalvik/annotation/optimization/%s;' % i]
    c.flags = 'public abstract interface annotation'; c.ifs = ['Ljava/lang/annotation/Annotation;']

c = Cls(STR, flags='public final', ifs=[J('CharSequence'), J('Comparable')])
c.f('count:I hash:I', flags='private')
c.f('serialVersionUID:J', True).f('CASE_INSENSITIVE_ORDER:%s serialPersistentFields:%s' % (OBJ, OBJ), True)
c.pad_virtual = V(54, 67)
if release >= 14: c.f('s0:Z s1:Z s2:Z', True)
c.m('length', '()I', 'public', 'iget v0, p0, %s->count:I\n    ushr-int/lit8 v0, v0, 0x1\n    return v0' % STR)
c.m('toString', '()'+STR, 'public', 'return-object p0')

c = Cls(CLS, flags='public final')
c.f('classLoader:%s componentType:%s dexCache:%s extData:Ldalvik/system/ClassExt; ifTable:[%s name:%s superClass:%s vtable:%s'
    % (J('ClassLoader'), CLS, J('DexCache'), OBJ, STR, CLS, OBJ), flags='private')
c.f('iFields:J methods:J sFields:J accessFlags:I classFlags:I classSize:I clinitThreadId:I dexClassDefIndex:I '
    'dexTypeIndex:I numReferenceInstanceFields:I numReferenceStaticFields:I objectSize:I '
    'objectSizeAllocFastPath:I primitiveType:I referenceInstanceOffsets:I status:I '
    'copiedMethodsOffset:S virtualMethodsOffset:S', flags='private')
c.f('ANNOTATION:I ENUM:I SYNTHETIC:I FINALIZABLE:I serialVersionUID:J', True)
c.pad_virtual = V(67, 81)

Cls('Ldalvik/system/ClassExt;', flags='public final').f(
    V('verifyError:%s ', 'classValueMap:{0} erroneousStateError:{0} '.format(OBJ) + '%s') % V(OBJ, '') +
    'instanceJfieldIDs:%s jmethodIDs:%s obsoleteClass:%s obsoleteDexCaches:[%s obsoleteMethods:%s originalDexFile:%s '
    'staticJfieldIDs:%s preRedefineDexFilePtr:J preRedefineClassDefIndex:I'
    % (OBJ, OBJ, CLS, OBJ, OBJ, OBJ, OBJ), flags='private')
classes['Ldalvik/system/ClassExt;'].pad_virtual = 0
Cls(J('DexCache'), flags='public final').f(
    'classLoader:%s location:%s dexFile:J resolvedCallSites:J resolvedFields:J resolvedMethodTypes:J '
    'resolvedMethods:J resolvedTypes:J strings:J ' % (J('ClassLoader'), STR) +
    V('preResolvedStrings:J numPreResolvedStrings:I numResolvedCallSites:I numResolvedFields:I '
      'numResolvedMethodTypes:I numResolvedMethods:I numResolvedTypes:I numStrings:I',
      'resolvedFieldsArray:J resolvedMethodTypesArray:J resolvedMethodsArray:J resolvedTypesArray:J '
      'stringsArray:J'), flags='private')
classes[J('DexCache')].pad_virtual = 0
REF = 'Ljava/lang/ref/Reference;'
c = Cls(REF, flags='public abstract')
c.f('pendingNext:%s queueNext:%s referent:%s queue:Ljava/lang/ref/ReferenceQueue;' % (REF, REF, OBJ))
c.f('disableIntrinsic:Z slowPathEnabled:Z', True)
for n, s in (('clear', '()V'), ('enqueue', '()Z'), V(('isEnqueued', '()Z'), ('refersTo', '(%s)Z' % OBJ))): c.m(n, s)
c.m('get', '()'+OBJ, 'public', 'invoke-direct {p0}, %s->getReferent()%s\n    move-result-object v0\n    return-object v0' % (REF, OBJ))
c.m('<init>', '('+OBJ+')V', 'public constructor', 'invoke-direct {p0}, %s-><init>()V\n    iput-object p1, p0, %s->referent:%s\n    return-void' % (OBJ, REF, OBJ))
c.pad_virtual = 4
for n in ('Soft', 'Weak', 'Phantom', 'Finalizer'):
    d = 'Ljava/lang/ref/%sReference;' % n
    Cls(d, REF).m('<init>', '('+OBJ+')V', 'public constructor',
                  'invoke-direct {p0, p1}, %s-><init>(%s)V\n    return-void' % (REF, OBJ))
FIN = 'Ljava/lang/ref/FinalizerReference;'
classes[FIN].f('next:%s prev:%s zombie:%s' % (FIN, FIN, OBJ))
Cls('Ljava/lang/ref/ReferenceQueue;')

CL = J('ClassLoader')
c = Cls(CL, flags='public abstract').f('packages:%s parent:%s proxyCache:%s allocator:J classTable:J' % (OBJ, CL, OBJ), flags='private')
c.m('<init>', '()V', 'protected constructor', 'invoke-direct {p0}, %s-><init>()V\n    return-void' % OBJ)
c.m('getSystemClassLoader', '()'+CL, 'public static',
    'new-instance v0, {B}\n    invoke-direct {v0}, {B}-><init>()V\n    return-object v0'.replace('{B}', J('BootClassLoader')))
Cls(J('BootClassLoader'), CL).m('<init>', '()V', 'public constructor', 'invoke-direct {p0}, %s-><init>()V\n    return-void' % CL)
BDCL = 'Ldalvik/system/BaseDexClassLoader;'
Cls(BDCL, CL)
for n in ('PathClassLoader', 'DexClassLoader', 'InMemoryDexClassLoader'): Cls('Ldalvik/system/%s;' % n, BDCL)
Cls('Ldalvik/system/DelegateLastClassLoader;', 'Ldalvik/system/PathClassLoader;')

THR = J('Throwable')
STE = J('StackTraceElement')
c = Cls(THR, ifs=['Ljava/io/Serializable;'])
c.f('backtrace:%s cause:%s detailMessage:%s stackTrace:[%s suppressedExceptions:Ljava/util/List;' % (OBJ, THR, STR, STE))
FILL = ('invoke-static {p0}, {T}->nativeFillInStackTrace()O\n' if 0 else
        'invoke-static {}, %s->nativeFillInStackTrace()%s\n    move-result-object v0\n    iput-object v0, p0, %s->backtrace:%s\n    ' % (THR, OBJ, THR, OBJ))
c.m('<init>', '()V', 'public constructor', 'invoke-direct {p0}, %s-><init>()V\n    %sreturn-void' % (OBJ, FILL))
c.m('<init>', '(%s)V' % STR, 'public constructor', 'invoke-direct {p0}, %s-><init>()V\n    iput-object p1, p0, %s->detailMessage:%s\n    %sreturn-void' % (OBJ, THR, STR, FILL))
c.m('<init>', '(%s)V' % THR, 'public constructor', 'invoke-direct {p0}, %s-><init>()V\n    iput-object p1, p0, %s->cause:%s\n    %sreturn-void' % (OBJ, THR, THR, FILL))
c.m('<init>', '(%s%s)V' % (STR, THR), 'public constructor', 'invoke-direct {p0}, %s-><init>()V\n    iput-object p1, p0, %s->detailMessage:%s\n    iput-object p2, p0, %s->cause:%s\n    %sreturn-void' % (OBJ, THR, STR, THR, THR, FILL))
Cls(STE, flags='public final').f('declaringClass:%s fileName:%s methodName:%s lineNumber:I' % (STR, STR, STR))

TREE = """Throwable: Exception Error
Exception: RuntimeException InterruptedException ReflectiveOperationException CloneNotSupportedException java/io/IOException
ReflectiveOperationException: ClassNotFoundException NoSuchFieldException NoSuchMethodException IllegalAccessException InstantiationException java/lang/reflect/InvocationTargetException
RuntimeException: NullPointerException ArithmeticException ArrayStoreException ClassCastException IllegalArgumentException IllegalMonitorStateException IllegalStateException IndexOutOfBoundsException NegativeArraySizeException SecurityException UnsupportedOperationException TypeNotPresentException java/lang/reflect/UndeclaredThrowableException java/lang/invoke/WrongMethodTypeException
IndexOutOfBoundsException: ArrayIndexOutOfBoundsException StringIndexOutOfBoundsException
UnsupportedOperationException: java/nio/ReadOnlyBufferException
Error: LinkageError VirtualMachineError
VirtualMachineError: OutOfMemoryError StackOverflowError InternalError
LinkageError: NoClassDefFoundError IncompatibleClassChangeError ClassCircularityError ClassFormatError VerifyError UnsatisfiedLinkError ExceptionInInitializerError BootstrapMethodError
IncompatibleClassChangeError: NoSuchFieldError NoSuchMethodError IllegalAccessError InstantiationError AbstractMethodError"""
full = lambda n: 'L%s;' % n if '/' in n else J(n)
for line in TREE.split('\n'):
    sup, subs = line.split(': ')
    for n in subs.split():
        c = Cls(full(n), full(sup))
        for s, r in (('()V', 'p0'), ('(%s)V' % STR, 'p0, p1'), ('(%s)V' % THR, 'p0, p1'), ('(%s%s)V' % (STR, THR), 'p0, p1, p2')):
            c.m('<init>', s, 'public constructor', 'invoke-direct {%s}, %s-><init>%s\n    return-void' % (r, full(sup), s))

TH, TG = J('Thread'), J('ThreadGroup')
c = Cls(TH, ifs=[J('Runnable')]).f('contextClassLoader:%s' % CL)
c.m('<init>', '()V', 'public constructor', '''invoke-direct {p0}, {O}-><init>()V
    new-instance v0, {O}
    invoke-direct {v0}, {O}-><init>()V
    iput-object v0, p0, {T}->lock:{O}
    const-string v0, "worker"
    iput-object v0, p0, {T}->name:{S}
    sget-object v0, {G}->mainThreadGroup:{G}
    iput-object v0, p0, {T}->group:{G}
    const/4 v0, 0x5
    iput v0, p0, {T}->priority:I
    return-void'''.replace('{O}', OBJ).replace('{T}', TH).replace('{G}', TG).replace('{S}', STR))
c.m('<init>', '(%s%sIZ)V' % (TG, STR), 'public constructor', '''invoke-direct {p0}, {O}-><init>()V
    new-instance v0, {O}
    invoke-direct {v0}, {O}-><init>()V
    iput-object v0, p0, {T}->lock:{O}
    iput-object p1, p0, {T}->group:{G}
    iput-object p2, p0, {T}->name:{S}
    iput p3, p0, {T}->priority:I
    iput-boolean p4, p0, {T}->daemon:Z
    return-void'''.replace('{O}', OBJ).replace('{T}', TH).replace('{G}', TG).replace('{S}', STR))
c.m('start', '()V', 'public', '''const-wide/16 v0, 0x0
    const/4 v2, 0x0
    invoke-static {p0, v0, v1, v2}, {T}->nativeCreate({T}JZ)V
    return-void'''.replace('{T}', TH))
c.m('join', '()V', 'public final', '''iget-object v0, p0, {T}->lock:{O}
    monitor-enter v0
    :loop
    iget-wide v1, p0, {T}->nativePeer:J
    const-wide/16 v3, 0x0
    cmp-long v5, v1, v3
    if-eqz v5, :done
    invoke-virtual {v0}, {O}->wait()V
    goto :loop
    :done
    monitor-exit v0
    return-void'''.replace('{O}', OBJ).replace('{T}', TH))
c = Cls(TG)
c.m('<clinit>', '()V', 'static constructor', '''new-instance v0, {G}
    invoke-direct {v0}, {G}-><init>()V
    const-string v1, "system"
    iput-object v1, v0, {G}->name:{S}
    sput-object v0, {G}->systemThreadGroup:{G}
    new-instance v1, {G}
    invoke-direct {v1}, {G}-><init>()V
    const-string v2, "main"
    iput-object v2, v1, {G}->name:{S}
    iput-object v0, v1, {G}->parent:{G}
    sput-object v1, {G}->mainThreadGroup:{G}
    return-void'''.replace('{G}', TG).replace('{S}', STR))

R = 'Ljava/lang/reflect/'
Cls(R+'AccessibleObject;').f('override:Z')
Cls(R+'Executable;', R+'AccessibleObject;', 'public abstract').f(
    'accessFlags:I artMethod:J declaringClass:%s declaringClassOfOverriddenMethod:%s dexMethodIndex:I '
    'hasRealParameterData:Z parameters:[%sParameter;' % (CLS, CLS, R))
Cls(R+'Method;', R+'Executable;', 'public final'); Cls(R+'Constructor;', R+'Executable;', 'public final')
Cls(R+'Field;', R+'AccessibleObject;', 'public final').f('accessFlags:I artFieldIndex:I declaringClass:%s offset:I type:%s' % (CLS, CLS))
Cls(R+'Proxy;').f('h:%sInvocationHandler;' % R)
I = 'Ljava/lang/invoke/'
Cls(I+'MethodType;', flags='public final').f('form:%s methodDescriptor:%s ptypes:[%s rtype:%s wrapAlt:%s' % (OBJ, STR, CLS, CLS, OBJ))
Cls(I+'MethodHandle;', flags='public abstract').f((V('nominalType', 'asTypeCache') + ':{I}' + V('MethodType', 'MethodHandle') + '; type:{I}MethodType; cachedSpreadInvoker:{I}MethodHandle; handleKind:I artFieldOrMethod:J').replace('{I}', I))
Cls(I+'MethodHandleImpl;', I+'MethodHandle;').f('info:%s' % OBJ)
Cls(I+'MethodHandles;'); Cls(I+'MethodHandles$Lookup;', flags='public final').f('lookupClass:%s allowedModes:I' % CLS)
Cls(I+'VarHandle;', flags='public abstract').f('varType:{C} coordinateType0:{C} coordinateType1:{C} accessModesBitMask:I'.replace('{C}', CLS))
Cls(I+'FieldVarHandle;', I+'VarHandle;').f('artField:J')
Cls(I+'ArrayElementVarHandle;', I+'VarHandle;')
if release >= 14: Cls(I+'StaticFieldVarHandle;', I+'FieldVarHandle;').f('declaringClass:%s' % CLS)
Cls(I+'ByteArrayViewVarHandle;', I+'VarHandle;').f('nativeByteOrder:Z')
Cls(I+'ByteBufferViewVarHandle;', I+'VarHandle;').f('nativeByteOrder:Z')
Cls(I+'CallSite;', flags='public abstract').f('target:%sMethodHandle;' % I)
Cls('Ldalvik/system/EmulatedStackFrame;').f((V('callsiteType:{I}MethodType; ', '') + 'type:{I}MethodType; references:[{O} stackFrame:[B').replace('{I}', I).replace('{O}', OBJ))
Cls(J('Number'), flags='public abstract')
for n in 'Byte Short Integer Long Float Double'.split(): Cls(J(n), J('Number'), 'public final')
Cls(J('Boolean'), flags='public final'); Cls(J('Character'), flags='public final'); Cls(J('Void'), flags='public final')
Cls('Ljava/nio/Buffer;', flags='public abstract'); Cls('Ljava/nio/ByteBuffer;', 'Ljava/nio/Buffer;', 'public abstract')
Cls('Ljava/nio/MappedByteBuffer;', 'Ljava/nio/ByteBuffer;', 'public abstract')
Cls('Ljava/nio/DirectByteBuffer;', 'Ljava/nio/MappedByteBuffer;')
SF = J('StringFactory')
c = Cls(SF, flags='public final')
c.m('newEmptyString', '()'+STR, 'public static', '''const/4 v0, 0x0
    new-array v1, v0, [C
    invoke-static {v0, v0, v1}, %s->newStringFromChars(II[C)%s
    move-result-object v0
    return-object v0''' % (SF, STR))

# StackOverflowError construction wants these two statics to be non-null
Cls('Ljava/util/Collections$EmptyList;', ifs=['Ljava/util/List;'])
Cls('Ljava/util/Collections;').m('<clinit>', '()V', 'static constructor', '''new-instance v0, Ljava/util/Collections$EmptyList;
    invoke-direct {v0}, Ljava/util/Collections$EmptyList;-><init>()V
    sput-object v0, Ljava/util/Collections;->EMPTY_LIST:Ljava/util/List;
    return-void''')
Cls('Llibcore/util/EmptyArray;').m('<clinit>', '()V', 'static constructor', '''const/4 v0, 0x0
    new-array v0, v0, [Ljava/lang/StackTraceElement;
    sput-object v0, Llibcore/util/EmptyArray;->STACK_TRACE_ELEMENT:[Ljava/lang/StackTraceElement;
    return-void''')

# ---- what the engine hooks beside the runtime: stand-ins for classes of the framework
Cls('Landroid/os/Parcel;')
Cls('Landroid/os/BinderProxy;').m(
    'transactNative', '(ILandroid/os/Parcel;Landroid/os/Parcel;I)Z', 'public native')
Cls('Landroid/os/MessageQueue;').m('nativePollOnce', '(JI)V', 'public native')
RUNTIME = J('Runtime')
Cls(RUNTIME).m('nativeLoad', '(%s%s%s)%s' % (STR, CL, CLS, STR), 'public static native')

# ---- the lab's player, whose native methods the command registers
PLAYER = 'Lstrobe/Player;'
c = Cls(PLAYER, flags='public final')
c.m('step', '(J)I', 'public static native')
c.m('caught', '(J%s)Z' % THR, 'public static native')
c.m('thrown', '(J)' + THR, 'public static native')
c.m('allocate', '(I)[B', 'public static', 'new-array v0, p0, [B\n    return-object v0')

# ---- members the runtime asks for by name ---------------------------------
for line in open(members_file):
    if line.startswith('#') or not line.strip(): continue
    d, kind, st, name, sig, fast = line.split()
    c = classes.get(d) or Cls(d)
    if kind == 'class' or (kind == 'stub' and (name, sig) in c.methods): continue
    if kind == 'field':
        c.fields.setdefault((name, st == 's'), (sig, 'public')); continue
    if (name, sig) in c.methods and not kind == 'native': continue
    iface = 'interface' in c.flags
    fl = {'s': 'public static', 'v': 'public', '?': 'public', 'd': 'private', 'p': 'public final varargs native'}[st]
    if name == '<init>': fl = 'public constructor'
    if (d, name) in ((REF, 'clearReferent'), (OBJ, 'internalClone'), (STR, 'doReplace'), (STR, 'fastSubstring'), (REF, 'refersTo0')): fl = 'private'
    if d == OBJ and fl == 'public': fl = 'public final'
    if (d, name) == (THR, 'nativeFillInStackTrace') or (d, name) == (TH, 'currentThread'): fl = 'public static'
    if iface: continue
    if kind == 'native': fl += ' native'
    c.m(name, sig, fl, None, fast == 'fast')

# ---- emit ------------------------------------------------------------------
object_virtuals = {k for k, v in classes[OBJ].methods.items()
                   if not any(x in v[0].split() for x in ('static', 'private', 'constructor'))}
assert len(object_virtuals) == 11, sorted(object_virtuals)
for c in classes.values():
    if ('<init>', '()V') not in c.methods and 'interface' not in c.flags and c.sup:
        sup = classes[c.sup]
        if ('<init>', '()V') in sup.methods or c.sup != REF:
            c.m('<init>', '()V', 'public constructor', 'invoke-direct {p0}, %s-><init>()V\n    return-void' % c.sup)
    if c.pad_virtual is not None:
        own = [k for k, v in c.methods.items() if k not in object_virtuals and
               not any(x in v[0].split() for x in ('static', 'private', 'constructor'))]
        assert len(own) <= c.pad_virtual, (c.d, len(own))
        for i in range(c.pad_virtual - len(own)): c.m('pad%02d' % i, '()V')

for c in classes.values():
    path = os.path.join(outdir, c.d[1:-1] + '.smali')
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as f:
        f.write('.class %s %s\n' % (c.flags, c.d))
        if c.sup: f.write('.super %s\n' % c.sup)
        for i in c.ifs: f.write('.implements %s\n' % i)
        for (n, static), (t, fl) in c.fields.items():
            f.write('.field %s%s %s:%s\n' % (fl, ' static' if static else '', n, t))
        for (n, s), (fl, body, fast) in c.methods.items():
            f.write('.method %s %s%s\n' % (fl, n, s))
            toks = fl.split()
            if 'native' in toks or 'abstract' in toks:
                if fast:
                    f.write('    .annotation build Ldalvik/annotation/optimization/FastNative;\n    .end annotation\n')
            else:
                f.write('    .locals 6\n    %s\n' % (body or default_body(s)))
            f.write('.end method\n')
print(len(classes), 'classes,', sum(len(c.methods) for c in classes.values()), 'methods,',
      sum(len(c.fields) for c in classes.values()), 'fields')
