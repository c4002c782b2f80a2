# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# common.sh - what the scripts of the test VM share: paths, messages, and an
# apt of our own that reads the packages of any Debian suite and architecture
# without touching the system's package lists.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$top/build
cache=$build/cache
arch=${ARCH:-amd64}

# Kernels we know: the version, with the flavour if it is not the plain one, the
# suite that carries it, and "built" if that has only the sources and mkkernel
# makes a kernel of them. PREEMPT_RT ones have no transparent huge pages.
# source_kernel's sources have what every kernel's tests use.
kernels='
6.1			bookworm
6.12			bookworm
6.12-sanitized		bookworm	built
6.12-sanitized-rothp	bookworm	built
7.3			trixie-backports
'
source_kernel=6.1

# The Debian whose programs every guest runs.
root_suite=bookworm

say()
{
	echo "$*" >&2
}

die()
{
	say "${0##*/}: $*"
	exit 2
}

# kernel_suite KERNEL: print it or fail.
kernel_suite()
{
	local name suite

	while read -r name suite _; do
		if [[ $name && $name == "$1" ]]; then
			echo "$suite"
			return
		fi
	done <<< "$kernels"
	die "no kernel '$1' in selftests/vm/common.sh"
}

# kernel_is_built KERNEL: by mkkernel, on this machine.
kernel_is_built()
{
	grep -qE "^$1[[:space:]].*[[:space:]]built$" <<< "$kernels"
}

# lock NAME: until this script ends, others that lock the same name wait.
lock()
{
	local fd

	mkdir -p "$build/lock"
	exec {fd}> "$build/lock/$1"
	if ! flock -n "$fd"; then
		say "  waiting for another ${0##*/} at work on $1"
		flock "$fd"
	fi
}

# Debian's archives as the system's apt knows them, "URI suite" per line. Only
# lists that were fetched tell whose archive it is; without any, a path of an
# archive that is called debian has to do.
archives()
{
	apt-get indextargets --format "\$(ORIGIN) \$(REPO_URI) \$(RELEASE)" \
		'Created-By: Packages' 'Component: main' | sed -n 's/^Debian //p'
	apt-get update --print-uris 2> /dev/null |
		sed -n "s|^'\([^' ]*/debian[^' /]*/\)dists/\([^' /]*\)/InRelease'.*|\1 \2|p"
}

# The URI of Debian's archive, or of its security archive; MIRROR and
# MIRROR_SECURITY say otherwise.
mirror()
{
	local kind=$1 uri suite

	if [[ $kind == main && ${MIRROR:-} ]]; then
		echo "$MIRROR"
		return
	elif [[ $kind == security && ${MIRROR_SECURITY:-} ]]; then
		echo "$MIRROR_SECURITY"
		return
	fi
	while read -r uri suite; do
		case $kind:$suite in
		security:*-security) ;;
		main:*-security | security:*) continue ;;
		esac
		echo "${uri%/}"
		return
	done < <(archives)
	[[ $kind == security ]] && echo "$(mirror main)-security" && return
	die "apt has no Debian archive configured; say MIRROR=<uri of one>"
}

# suite_sources SUITE: the lines of a sources.list for it and what it stands on.
suite_sources()
{
	local base=${1%-backports} signed='' main security
	local key=/usr/share/keyrings/debian-archive-keyring.gpg

	[[ -e $key ]] && signed=" [signed-by=$key]"
	main=$(mirror main)
	security=$(mirror security)
	cat <<-END
	deb$signed $main $base main
	deb$signed $main $base-updates main
	deb$signed $security $base-security main
	END
	[[ $1 == "$base" ]] || echo "deb$signed $main $1 main"
}

# apt_setup SUITE [ARCH]: an apt that knows nothing but SUITE, for $arch. Leaves
# its folder in $apt_dir and its configuration in $apt_conf; fetches nothing.
apt_setup()
{
	local suite=$1 for=${2:-$arch}

	apt_dir=$cache/apt/$suite-$for
	apt_conf=$apt_dir/apt.conf
	mkdir -p "$apt_dir"/{lists,archives}/partial
	: > "$apt_dir/status"
	suite_sources "$suite" > "$apt_dir/sources.list"
	cat > "$apt_conf" <<-END
	#clear APT::Update::Post-Invoke;
	#clear APT::Update::Post-Invoke-Success;
	#clear DPkg::Post-Invoke;
	APT::Architecture "$for";
	APT::Architectures { "$for"; };
	APT::Sandbox::User "root";
	APT::Install-Recommends "false";
	APT::Get::Assume-Yes "true";
	Acquire::Languages "none";
	Acquire::Retries "3";
	Dir::Etc::sourcelist "$apt_dir/sources.list";
	Dir::Etc::sourceparts "/dev/null";
	Dir::Etc::preferences "/dev/null";
	Dir::Etc::preferencesparts "/dev/null";
	Dir::State "$apt_dir";
	Dir::State::lists "$apt_dir/lists";
	Dir::State::status "$apt_dir/status";
	Dir::Cache "$apt_dir";
	Dir::Cache::archives "$apt_dir/archives";
	END
}

# apt_update: fetch the package lists, unless that was done this hour. Called by
# whoever misses something.
apt_update()
{
	local stamp=$apt_dir/updated

	[[ $(find "$stamp" -mmin -60 2> /dev/null) ]] && return
	say "  fetching the package lists of ${apt_dir##*/}"
	apt-get -c "$apt_conf" -qq update >&2
	: > "$stamp"
}

# apt_field PACKAGE FIELD: what the newest version's record says.
apt_field()
{
	apt-cache -c "$apt_conf" show --no-all-versions "$1" |
		sed -n "s/^$2: //p" | head -n 1
}

# apt_fetch DIR PACKAGE...: the newest .deb of each PACKAGE into DIR.
apt_fetch()
{
	local dir=$1

	shift
	mkdir -p "$dir"
	(cd "$dir" && apt-get -c "$apt_conf" -qq download "$@" >&2)
}
