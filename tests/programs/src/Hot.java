import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Sorts, hashes and collects garbage in four threads:  Hot ROUNDS */
public class Hot {
    static long sortNumbers(int seed) {
        int[] numbers = new int[20000];
        int h = seed;
        for (int i = 0; i < numbers.length; i++) {
            h = h * 1103515245 + 12345;
            numbers[i] = h >>> 4;
        }
        Arrays.sort(numbers);
        return numbers[numbers.length / 2];
    }

    static long countWords(int seed) {
        HashMap<String, Integer> words = new HashMap<>();
        for (int i = 0; i < 20000; i++)
            words.merge("word" + (i * 31 + seed) % 977, 1, Integer::sum);
        return words.get("word" + seed % 977);
    }

    static long multiply(int seed) {
        long h = seed;
        for (int i = 0; i < 2000000; i++)
            h = (h ^ (h >>> 29)) * 0xbf58476d1ce4e5b9L + i;
        return h;
    }

    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Callable<Long>> jobs = new ArrayList<>();
        for (int i = 0; i < rounds; i++) {
            int seed = i;
            jobs.add(() -> sortNumbers(seed) + countWords(seed) + multiply(seed));
        }
        long sum = 0;
        for (Future<Long> result : pool.invokeAll(jobs))
            sum += result.get();
        pool.shutdown();
        System.out.println(sum);
    }
}
