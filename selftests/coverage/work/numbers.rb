# SPDX-License-Identifier: GPL-2.0
# numbers - the same work in every language: see numbers.expected.
require 'digest'

def primes(limit)
  composite = Array.new(limit, false)
  (2...limit).reject do |i|
    (i * i).step(limit - 1, i) { |j| composite[j] = true } unless composite[i]
    composite[i]
  end
end

def words(number)
  seed = 1
  Array.new(number) { "w#{(seed = seed * 16807 % 2147483647) % 1000}" }
end

def factorial(n)
  digits = [1]
  (2..n).each do |factor|
    carry = 0
    digits.map! do |digit|
      carry, digit = (carry + digit * factor).divmod(10)
      digit
    end
    while carry > 0
      carry, digit = carry.divmod(10)
      digits << digit
    end
  end
  digits
end

found = primes(20000)
puts "primes #{found.size} #{found.sum}"
count = words(20000).tally
pairs = count.sort_by { |word, number| [-number, word] }.map { |word, number| "#{word}=#{number}" }
puts "words #{pairs.size} #{pairs.first(3).join(' ')}"
text = pairs.join(',')
puts "sha256 #{Digest::SHA256.hexdigest(text)}"
puts "doubled #{text.scan(/w(\d)\1=/).size}"
puts "factorial #{factorial(200).size} #{factorial(200).sum}"
puts format('roots %.6f', (1..10000).sum { |i| Math.sqrt(i) })
caught = 0
1000.times do |i|
  raise ArgumentError, i.to_s if i % 7 == 0
rescue ArgumentError
  caught += 1
end
puts "caught #{caught}"
puts 'done'
$stdout.flush
$stdin.read
