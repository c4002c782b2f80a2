// SPDX-License-Identifier: GPL-2.0
/*
 * The C++ half of the test program: exceptions, thread-locals, constructors.
 * Its last line says how the text is mapped; the rest is the same for every
 * way to link.
 */
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

#include "mapping.h"
#include "sections.h"

namespace {

class tracer {
public:
	explicit tracer(const char *name) : name(name)
	{
		std::printf("made %s\n", name);
	}
	~tracer()
	{
		std::printf("gone %s\n", name);
	}

private:
	const char *name;
};

/* Written in the wrong order: the priorities count. */
__attribute__((init_priority(300))) tracer second("second");
__attribute__((init_priority(200))) tracer first("first");
tracer third("third");

thread_local int initialised = 7;
thread_local int zero;
alignas(64) thread_local char aligned[100];
thread_local std::string with_constructor("per thread");

void use_thread_locals(const char *who)
{
	initialised++;
	zero += 2;
	std::printf("%s %d %d %s %s\n", who, initialised, zero, with_constructor.c_str(),
		    reinterpret_cast<std::uintptr_t>(aligned) % 64 ? "askew" : "straight");
}

struct shape {
	virtual ~shape() = default;
	virtual int corners() const = 0;
};

struct square : shape {
	int corners() const override
	{
		return 4;
	}
};

__attribute__((noinline)) int thrower(const shape &shape)
{
	tracer local("local");

	if (shape.corners() == 4)
		throw std::runtime_error("four corners");
	return shape.corners();
}

void print_exception()
{
	try {
		thrower(square());
	} catch (const std::exception &error) {
		std::printf("caught %s\n", error.what());
	}
}

} /* namespace */

int main()
{
	const std::uintptr_t mask = (2UL << 20) - 1;
	struct mapping text = mapping_of(reinterpret_cast<void *>(main));

	print_early();
	print_exception();
	use_thread_locals("main");
	std::thread(use_thread_locals, "other").join();
	print_sets();
	print_ifunc();
	print_mappings();
	print_zeroes();
	std::printf("text mapping is %s\n",
		    (text.start | text.end | text.offset) & mask ? "not aligned" : "aligned");
	return 0;
}
