<?php
// SPDX-License-Identifier: GPL-2.0
// numbers - the same work in every language: see numbers.expected.

function primes($limit)
{
	$composite = array_fill(0, $limit, false);
	$found = [];
	for ($i = 2; $i < $limit; $i++) {
		if ($composite[$i])
			continue;
		$found[] = $i;
		for ($j = $i * $i; $j < $limit; $j += $i)
			$composite[$j] = true;
	}
	return $found;
}

function words($number)
{
	for ($seed = 1; $number; $number--) {
		$seed = $seed * 16807 % 2147483647;
		yield 'w' . $seed % 1000;
	}
}

function factorial($n)
{
	$digits = [1];
	for ($factor = 2; $factor <= $n; $factor++) {
		$carry = 0;
		foreach ($digits as $i => $digit) {
			$carry += $digit * $factor;
			$digits[$i] = $carry % 10;
			$carry = intdiv($carry, 10);
		}
		for (; $carry; $carry = intdiv($carry, 10))
			$digits[] = $carry % 10;
	}
	return $digits;
}

$found = primes(20000);
echo 'primes ', count($found), ' ', array_sum($found), "\n";
$count = [];
foreach (words(20000) as $word)
	$count[$word] = ($count[$word] ?? 0) + 1;
uksort($count, fn($a, $b) => $count[$b] <=> $count[$a] ?: strcmp($a, $b));
$pairs = array_map(fn($word) => "$word=$count[$word]", array_keys($count));
echo 'words ', count($count), ' ', implode(' ', array_slice($pairs, 0, 3)), "\n";
$text = implode(',', $pairs);
echo 'sha256 ', hash('sha256', $text), "\n";
echo 'doubled ', preg_match_all('/w(\d)\1=/', $text), "\n";
echo 'factorial ', count(factorial(200)), ' ', array_sum(factorial(200)), "\n";
echo 'roots ', sprintf('%.6f', array_sum(array_map('sqrt', range(1, 10000)))), "\n";
$caught = 0;
for ($i = 0; $i < 1000; $i++) {
	try {
		if ($i % 7 == 0)
			throw new Exception((string)$i);
	} catch (Exception $e) {
		$caught++;
	}
}
echo "caught $caught\n";
echo "done\n";
stream_get_contents(STDIN);
