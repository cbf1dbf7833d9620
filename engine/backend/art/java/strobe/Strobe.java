package strobe;

/**
 * Records the app's own process: starts and stops a capture, and reports sections and counters of the app's own.
 *
 * <pre>
 *   String refusal = Strobe.start(context.getFilesDir() + "/app.strobe");
 *   if (refusal != null)
 *       Log.w("app", "not recorded: " + refusal);
 *   ...
 *   Strobe.begin("load level");
 *   loadLevel();
 *   Strobe.end();
 *   ...
 *   Strobe.stop();
 * </pre>
 *
 * The methods may be called on any thread and throw nothing. While no capture runs, begin, end and counter return at
 * once. The engine's C API, strobe/capture.h, describes each function.
 */
public final class Strobe {
    /** Flags of start: overwrite a file that exists; begin paused; drop new samples when the session is full. */
    public static final int REPLACE = 1, PAUSED = 2, KEEP_OLDEST = 4;

    /** Flag of start: <code>strobe capture -a PACKAGE</code> finds the capture in the running app, and fetches it. */
    public static final int CONTROL = 8;

    private static final String UNLOADED = load();

    private Strobe() {
    }

    /** Begins a capture into a new session file with the default options. Returns null, or why there is no capture. */
    public static String start(String path) {
        return start(path, 0, 0, 0);
    }

    /**
     * Begins a capture into a new session file. Returns null, or why there is no capture.
     *
     * @param flags      REPLACE, PAUSED, KEEP_OLDEST, CONTROL
     * @param intervalNs CPU time between two samples of a thread; 0: 1 ms
     * @param records    capacity of the session, at 64 bytes a record; 0: 262144
     */
    public static String start(String path, int flags, long intervalNs, int records) {
        return UNLOADED != null ? UNLOADED : startCapture(path, flags, intervalNs, records);
    }

    /**
     * Begins a capture with a flight recorder, which writes the last seconds to a file when the app hangs or crashes.
     * The session is in memory. Call it on the main thread, so that the recorder sees ANRs. Returns null, or why there is
     * no recorder.
     *
     * @param configuration path of a text file; strobe/capture.h describes its lines
     */
    public static String startFlight(String configuration) {
        return UNLOADED != null ? UNLOADED : startRecorder(configuration);
    }

    /** Asks the flight recorder for a dump. Returns false when there is no recorder, or it has no trigger `call`. */
    public static boolean dump() {
        return UNLOADED == null && dumpNow();
    }

    /** Ends the capture and closes its session. Returns false when no capture ran, or the session is not closed. */
    public static boolean stop() {
        return UNLOADED == null && stopCapture();
    }

    /** Stops the recording until resume. Returns false when no capture runs. */
    public static boolean pause() {
        return UNLOADED == null && pauseCapture(true);
    }

    /** Continues the recording. Returns false when no capture runs. */
    public static boolean resume() {
        return UNLOADED == null && pauseCapture(false);
    }

    /** Begins a section of the calling thread. Sections nest. */
    public static void begin(String name) {
        if (UNLOADED == null)
            beginSection(name);
    }

    /** Ends the section of the calling thread that was begun last. */
    public static void end() {
        if (UNLOADED == null)
            endSection();
    }

    /** Reports the value of a counter of the process, from now on. */
    public static void counter(String name, long value) {
        if (UNLOADED == null)
            reportCounter(name, value);
    }

    /** Reports the value of a counter of the calling thread, from now on. */
    public static void threadCounter(String name, long value) {
        if (UNLOADED == null)
            reportThreadCounter(name, value);
    }

    /** Returns the state of the capture, its counts and its features as a JSON object. */
    public static String status() {
        return UNLOADED == null ? describeCapture() : "{\"state\":\"unloaded\"}";
    }

    private static String load() {
        try {
            System.loadLibrary("strobe");
            return isBound() ? null : "libstrobe.so is of another version";
        } catch (UnsatisfiedLinkError e) {
            return "libstrobe.so cannot be loaded: " + e.getMessage();
        }
    }

    private static native boolean isBound();
    private static native String startCapture(String path, int flags, long intervalNs, int records);
    private static native String startRecorder(String configuration);
    private static native boolean dumpNow();
    private static native boolean stopCapture();
    private static native boolean pauseCapture(boolean pause);
    private static native void beginSection(String name);
    private static native void endSection();
    private static native void reportCounter(String name, long value);
    private static native void reportThreadCounter(String name, long value);
    private static native String describeCapture();
}
