# SPDX-License-Identifier: GPL-2.0
#
# Builds the module and the command, installs them, and runs the demo and the
# checks. Everything built goes to build/; the sources stay as they are.

BUILD	:= $(CURDIR)/build
PREFIX	?= /usr/local
KERNEL	?= 6.1
# How long the writers work in "make soak".
SECONDS	?= 3600

# The kernel to build the module for: the running one, or the one somebody names.
RUNNING	:= /lib/modules/$(shell uname -r)/build
KDIR	?= $(RUNNING)
# What that kernel calls itself; its "kernel.release" file does not say it on Debian.
KREL	= $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h)
KBUILD_OUT = $(BUILD)/kmod/$(KREL)

ifneq ($(wildcard $(KDIR)/Makefile),)
have_headers := y
else ifneq ($(KDIR),$(RUNNING))
have_headers := missing
endif

all: tools $(if $(have_headers),module,no-module)

help:
	@echo 'make                   the command; the module too if the running kernel'\''s headers are there'
	@echo 'make KDIR=DIR          the module for the kernel with its headers in DIR'
	@echo 'make install           both, the manual page and the linker script (DESTDIR=, PREFIX=)'
	@echo 'make uninstall         takes them away again'
	@echo 'sudo make demo         a real database on huge text pages, in a virtual machine'
	@echo 'sudo make check        every check; make check-fast: those that take seconds;'
	@echo '                       KERNELS="6.1 7.3" leaves out the other kernels'
	@echo 'sudo make soak         writers at text that is huge, for an hour (SECONDS=3600, KERNEL=6.1, SEED=)'
	@echo 'sudo make coverage     how much of the text of real programs becomes huge, for'
	@echo '                       Documentation/coverage.rst; KERNELS= and PROGRAMS= measure less, and write nothing'
	@echo 'make vm [KERNEL=6.1]   a shell in the virtual machine, with the module and the command'
	@echo 'make update            look for newer kernels and packages than those in build/cache'
	@echo 'make clean             removes what was built; make distclean: what was fetched, too'

tools:
	$(MAKE) -C tools

# kbuild leaves its products beside the sources it is given, so it gets links to them.
module:
ifneq ($(have_headers),y)
	@echo "No kernel headers in $(KDIR)." >&2
	@exit 1
else
	@mkdir -p $(KBUILD_OUT)
	@cp -rsf $(CURDIR)/kmod/. $(KBUILD_OUT)
	@rm -rf $(KBUILD_OUT)/core/tests
	@find $(KBUILD_OUT) -xtype l -delete
	$(MAKE) -C $(KDIR) M=$(KBUILD_OUT) modules
endif

no-module:
	@echo "No module built: $(RUNNING) is missing; install linux-headers-$$(uname -r) or say KDIR=."

MODULE	= $(DESTDIR)/lib/modules/$(KREL)/updates/hugetext.ko

install: all
ifeq ($(have_headers),y)
	install -D -m 644 $(KBUILD_OUT)/hugetext.ko $(MODULE)
	$(if $(DESTDIR),,depmod -a $(KREL))
endif
	$(MAKE) -C tools install PREFIX=$(PREFIX)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/hugetext linker/ld-align.lds

uninstall:
ifeq ($(have_headers),y)
	rm -f $(MODULE)
	$(if $(DESTDIR),,depmod -a $(KREL))
endif
	rm -f $(DESTDIR)$(PREFIX)/bin/hugetext $(DESTDIR)$(PREFIX)/share/man/man8/hugetext.8
	rm -rf $(DESTDIR)$(PREFIX)/share/hugetext

demo:
	selftests/vm/setup demo
	selftests/demo/demo

check:
	selftests/vm/setup check
	selftests/check

check-fast:
	selftests/vm/setup check
	selftests/check --fast

soak:
	selftests/vm/setup check
	WRITERS_LIMIT=$$(($(SECONDS) + 900)) selftests/vm/kselftests \
		--name soak-$(KERNEL) $(KERNEL) writers -- --timeout $$(($(SECONDS) + 1200)) --append \
		"HUGETEXT_WRITERS_SECONDS=$(SECONDS) $(if $(SEED),HUGETEXT_WRITERS_SEED=$(SEED))"
	selftests/vm/crash $(KERNEL) $$(($(SECONDS) / 600 + 1))

coverage:
	selftests/vm/setup check
	selftests/coverage/coverage $(if $(KERNELS)$(PROGRAMS),,--write) $(KERNELS)

vm:
	selftests/vm/setup demo
	selftests/vm/build $(KERNEL)
	selftests/vm/run --name shell --shell $(KERNEL)

update:
	selftests/vm/fetch --update $(KERNEL)
	selftests/vm/mkroot --update
	$(if $(wildcard $(BUILD)/cache/root.coverage-*),selftests/vm/mkroot --update --packages selftests/coverage/packages)

clean:
	find $(BUILD) -mindepth 1 -maxdepth 1 ! -name cache ! -name lock -exec rm -rf {} +

distclean:
	rm -rf $(BUILD)

.PHONY: all help tools module no-module install uninstall demo check check-fast soak coverage vm
.PHONY: update clean distclean
