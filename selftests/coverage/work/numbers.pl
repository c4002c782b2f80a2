# SPDX-License-Identifier: GPL-2.0
# numbers - the same work in every language: see numbers.expected.
use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use List::Util qw(sum);

sub primes {
	my ($limit) = @_;
	my (@composite, @found);
	for my $i (2 .. $limit - 1) {
		next if $composite[$i];
		push @found, $i;
		for (my $j = $i * $i; $j < $limit; $j += $i) {
			$composite[$j] = 1;
		}
	}
	return @found;
}

sub words {
	my ($number) = @_;
	my $seed = 1;
	return map { $seed = $seed * 16807 % 2147483647; 'w' . $seed % 1000 } 1 .. $number;
}

sub factorial {
	my ($n) = @_;
	my @digits = (1);
	for my $factor (2 .. $n) {
		my $carry = 0;
		for my $digit (@digits) {
			$carry += $digit * $factor;
			$digit = $carry % 10;
			$carry = int($carry / 10);
		}
		for (; $carry; $carry = int($carry / 10)) {
			push @digits, $carry % 10;
		}
	}
	return @digits;
}

$| = 1;
my @found = primes(20000);
print 'primes ', scalar(@found), ' ', sum(@found), "\n";
my %count;
$count{$_}++ for words(20000);
my @pairs = map { "$_=$count{$_}" } sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print 'words ', scalar(@pairs), " @pairs[0 .. 2]\n";
my $text = join ',', @pairs;
print 'sha256 ', sha256_hex($text), "\n";
my $doubled = () = $text =~ /w(\d)\1=/g;
print "doubled $doubled\n";
my @digits = factorial(200);
print 'factorial ', scalar(@digits), ' ', sum(@digits), "\n";
printf "roots %.6f\n", sum(map { sqrt } 1 .. 10000);
my $caught = 0;
for my $i (0 .. 999) {
	$caught++ unless eval { die "$i\n" if $i % 7 == 0; 1 };
}
print "caught $caught\n";
print "done\n";
1 while <STDIN>;
