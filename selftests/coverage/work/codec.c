// SPDX-License-Identifier: GPL-2.0
/*
 * codec.c - what the compilers compile and gdb debugs: the image libraries of
 * libstb, and a program that sends a picture through them and back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#include <stb/stb_image.h>
#include <stb/stb_image_write.h>
#include <stb/stb_image_resize.h>

#define WIDTH	64
#define HEIGHT	48

struct buffer {
	unsigned char *data;
	int size;
};

static void append(void *context, void *data, int size)
{
	struct buffer *buffer = context;

	buffer->data = realloc(buffer->data, buffer->size + size);
	memcpy(buffer->data + buffer->size, data, size);
	buffer->size += size;
}

static void draw(unsigned char *image)
{
	for (int i = 0; i < WIDTH * HEIGHT * 3; i++)
		image[i] = i * 7 + i / (WIDTH * 3) * 5;
}

static int count_same(const unsigned char *one, const unsigned char *other, int size)
{
	int same = 0;

	for (int i = 0; i < size; i++)
		same += one[i] == other[i];
	return same;
}

int main(void)
{
	static unsigned char image[WIDTH * HEIGHT * 3], half[WIDTH * HEIGHT * 3 / 4];
	struct buffer png = { 0 }, bmp = { 0 };
	unsigned char *back;
	int width, height, channels;

	draw(image);
	stbi_write_png_to_func(append, &png, WIDTH, HEIGHT, 3, image, WIDTH * 3);
	back = stbi_load_from_memory(png.data, png.size, &width, &height, &channels, 3);
	printf("png %d %d %d %d\n", width, height, channels,
	       back ? count_same(image, back, sizeof(image)) : -1);
	stbi_write_bmp_to_func(append, &bmp, WIDTH, HEIGHT, 3, image);
	back = stbi_load_from_memory(bmp.data, bmp.size, &width, &height, &channels, 3);
	printf("bmp %d %d %d %d\n", width, height, channels,
	       back ? count_same(image, back, sizeof(image)) : -1);
	memset(image, 77, sizeof(image));
	stbir_resize_uint8(image, WIDTH, HEIGHT, 0, half, WIDTH / 2, HEIGHT / 2, 0, 3);
	memset(image, 77, sizeof(image));
	printf("half %d\n", count_same(image, half, sizeof(half)));
	return 0;
}
