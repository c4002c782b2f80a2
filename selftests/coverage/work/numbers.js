// SPDX-License-Identifier: GPL-2.0
// numbers - the same work in every language: see numbers.expected.
'use strict';
const crypto = require('crypto');

function primes(limit)
{
	const composite = new Uint8Array(limit), found = [];
	for (let i = 2; i < limit; i++) {
		if (composite[i])
			continue;
		found.push(i);
		for (let j = i * i; j < limit; j += i)
			composite[j] = 1;
	}
	return found;
}

function* words(number)
{
	for (let seed = 1; number; number--) {
		seed = seed * 16807 % 2147483647;
		yield `w${seed % 1000}`;
	}
}

function factorial(n)
{
	const digits = [1];
	for (let factor = 2; factor <= n; factor++) {
		let carry = 0;
		for (let i = 0; i < digits.length; i++) {
			carry += digits[i] * factor;
			digits[i] = carry % 10;
			carry = Math.floor(carry / 10);
		}
		for (; carry; carry = Math.floor(carry / 10))
			digits.push(carry % 10);
	}
	return digits;
}

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
// Often enough for the compilers of what is hot.
for (let i = 0; i < 5; i++)
	primes(20000);
const found = primes(20000);
console.log('primes', found.length, sum(found));
const count = new Map();
for (const word of words(20000))
	count.set(word, (count.get(word) || 0) + 1);
const pairs = [...count].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map((pair) => pair.join('='));
console.log('words', pairs.length, pairs.slice(0, 3).join(' '));
const text = pairs.join(',');
console.log('sha256', crypto.createHash('sha256').update(text).digest('hex'));
console.log('doubled', text.match(/w(\d)\1=/g).length);
console.log('factorial', factorial(200).length, sum(factorial(200)));
console.log('roots', sum(Array.from({ length: 10000 }, (_, i) => Math.sqrt(i + 1))).toFixed(6));
let caught = 0;
for (let i = 0; i < 1000; i++) {
	try {
		if (i % 7 === 0)
			throw new Error(String(i));
	} catch (error) {
		caught++;
	}
}
console.log('caught', caught);
console.log('done');
process.stdin.resume();
