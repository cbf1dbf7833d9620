# The native methods of engine/backend/art/java/strobe/Strobe.java. tests/tidy compares both.
.class public Lstrobe/Strobe;
.super Ljava/lang/Object;

.method public static native isBound()Z
.end method

.method public static native startCapture(Ljava/lang/String;IJI)Ljava/lang/String;
.end method

.method public static native startRecorder(Ljava/lang/String;)Ljava/lang/String;
.end method

.method public static native dumpNow()Z
.end method

.method public static native stopCapture()Z
.end method

.method public static native pauseCapture(Z)Z
.end method

.method public static native beginSection(Ljava/lang/String;)V
.end method

.method public static native endSection()V
.end method

.method public static native reportCounter(Ljava/lang/String;J)V
.end method

.method public static native reportThreadCounter(Ljava/lang/String;J)V
.end method

.method public static native describeCapture()Ljava/lang/String;
.end method
