// SPDX-License-Identifier: GPL-2.0
/*
 * The program that uses the shared library of the tests.
 */
#include <cstdio>
#include <exception>
#include <thread>

#include "library.h"

int main()
{
	int in_thread = 0;

	try {
		throw_from_library(3);
	} catch (const std::exception &error) {
		std::printf("caught %s\n", error.what());
	}
	count_in_library();
	std::thread([&] { in_thread = count_in_library(); }).join();
	std::printf("counts %d %d\n", count_in_library(), in_thread);
	std::printf("text mapping is %s\n", library_text_mapping());
	return 0;
}
