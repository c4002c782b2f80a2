// SPDX-License-Identifier: GPL-2.0
/*
 * A shared library linked with ld-align.lds: exceptions that leave it,
 * thread-locals, a constructor and a destructor of its own.
 */
#include <cstdio>
#include <stdexcept>
#include <string>

#include "library.h"
#include "mapping.h"

namespace {

thread_local int count = 10;

struct tracer {
	tracer()
	{
		std::printf("library made\n");
	}
	~tracer()
	{
		std::printf("library gone\n");
	}
} tracer;

} /* namespace */

void throw_from_library(int value)
{
	throw std::out_of_range("library " + std::to_string(value));
}

int count_in_library()
{
	return ++count;
}

const char *library_text_mapping()
{
	const unsigned long mask = (2UL << 20) - 1;
	struct mapping text = mapping_of(reinterpret_cast<void *>(library_text_mapping));

	return (text.start | text.end | text.offset) & mask ? "not aligned" : "aligned";
}
