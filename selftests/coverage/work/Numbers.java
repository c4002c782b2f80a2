// SPDX-License-Identifier: GPL-2.0
// Numbers - the same work in every language: see numbers.expected.
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

class Numbers {
	static List<Integer> primes(int limit) {
		boolean[] composite = new boolean[limit];
		List<Integer> found = new ArrayList<>();
		for (int i = 2; i < limit; i++) {
			if (composite[i])
				continue;
			found.add(i);
			for (long j = (long)i * i; j < limit; j += i)
				composite[(int)j] = true;
		}
		return found;
	}

	static Map<String, Integer> words(int number) {
		Map<String, Integer> count = new HashMap<>();
		long seed = 1;
		for (; number > 0; number--) {
			seed = seed * 16807 % 2147483647;
			count.merge("w" + seed % 1000, 1, Integer::sum);
		}
		return count;
	}

	static List<Integer> factorial(int n) {
		List<Integer> digits = new ArrayList<>(List.of(1));
		for (int factor = 2; factor <= n; factor++) {
			int carry = 0;
			for (int i = 0; i < digits.size(); i++) {
				carry += digits.get(i) * factor;
				digits.set(i, carry % 10);
				carry /= 10;
			}
			for (; carry > 0; carry /= 10)
				digits.add(carry % 10);
		}
		return digits;
	}

	static long sum(List<Integer> numbers) {
		return numbers.stream().mapToLong(Integer::longValue).sum();
	}

	public static void main(String[] args) throws Exception {
		// Often enough for the compilers of what is hot, in threads, and with
		// garbage to collect.
		var threads = Executors.newFixedThreadPool(2);
		List<Future<Long>> results = new ArrayList<>();
		for (int i = 0; i < 40; i++)
			results.add(threads.submit(() -> sum(primes(20000)) + new TreeMap<>(words(5000)).size()));
		for (var result : results)
			if (result.get() != 21171191 + words(5000).size())
				System.out.println("wrong sum " + result.get());
		threads.shutdown();
		System.gc();

		List<Integer> found = primes(20000);
		System.out.println("primes " + found.size() + " " + sum(found));
		List<String> pairs = words(20000).entrySet().stream()
			.sorted(Map.Entry.<String, Integer>comparingByValue(Comparator.reverseOrder())
				.thenComparing(Map.Entry.comparingByKey()))
			.map(Map.Entry::toString).collect(Collectors.toList());
		System.out.println("words " + pairs.size() + " " + String.join(" ", pairs.subList(0, 3)));
		String text = String.join(",", pairs);
		StringBuilder sha = new StringBuilder();
		for (byte b : MessageDigest.getInstance("SHA-256").digest(text.getBytes("US-ASCII")))
			sha.append(String.format("%02x", b));
		System.out.println("sha256 " + sha);
		System.out.println("doubled " + Pattern.compile("w(\\d)\\1=").matcher(text).results().count());
		System.out.println("factorial " + factorial(200).size() + " " + sum(factorial(200)));
		System.out.println(String.format("roots %.6f", IntStream.range(1, 10001).mapToDouble(Math::sqrt).sum()));
		int caught = 0;
		for (int i = 0; i < 1000; i++) {
			try {
				if (i % 7 == 0)
					throw new IllegalStateException(String.valueOf(i));
			} catch (IllegalStateException e) {
				caught++;
			}
		}
		System.out.println("caught " + caught);
		System.out.println("done");
		System.in.readAllBytes();
	}
}
