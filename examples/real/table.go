package main

import (
	"bytes"
	"regexp"
	"slices"
)

// program is one of the programs: how it is built from its sources and run.
type program struct {
	name     string
	packages []string // of Debian: NAME, or NAME/RELEASE
	rust     bool     // $RUSTC compiles for the simulated machine
	// build is a shell script. It begins in an empty directory that has the drivers,
	// finds the packages in $SRC/NAME/tree (copy NAME makes a copy here), and leaves
	// programs and their shared objects in $OUT. $KIND is static or dynamic; $CC, $CXX
	// and $FC link as it says, and make $ALLSTATIC makes libtool do so.
	build string
	runs  []run
	// varies matches the parts of the output that differ from run to run.
	varies *regexp.Regexp
	// only is the one kind of linking that works; "": both do.
	only string
	// anyOrder: threads write the lines of the output in any order.
	anyOrder bool
}

// run is a way to run a program. It finds the inputs in its directory.
type run struct {
	name  string
	args  []string // the program's name in $OUT first
	stdin string
	env   []string
	write bool // it writes files into its directory
}

// comparable is output without what differs from run to run.
func (p *program) comparable(output []byte) []byte {
	if p.varies != nil {
		output = p.varies.ReplaceAll(output, nil)
	}
	if p.anyOrder {
		lines := bytes.Split(output, []byte("\n"))
		slices.SortFunc(lines, bytes.Compare)
		output = bytes.Join(lines, []byte("\n"))
	}
	return output
}

var programs = []program{
	{
		name:     "pigz",
		packages: []string{"pigz/trixie", "zlib"},
		build: `copy pigz; copy zlib
(cd zlib && CHOST=$HOST ./configure --static && make -s libz.a)
make -s -C pigz CC="$CC" CFLAGS="$CFLAGS -I../zlib" LDFLAGS="-L../zlib" pigz
cp pigz/pigz $OUT`,
		runs: []run{{args: []string{"pigz", "-p", "4", "-b", "32", "-n", "-c", "text"}}},
	},
	{
		name:     "pbzip2",
		packages: []string{"pbzip2", "bzip2"},
		build: `copy pbzip2; copy bzip2
make -s -C bzip2 CC="$CC" CFLAGS="$CFLAGS" AR=$AR RANLIB=$RANLIB libbz2.a
make -s -C pbzip2 CXX="$CXX" CXXFLAGS="$CXXFLAGS -I../bzip2 -DUSE_STACKSIZE_CUSTOMIZATION -pthread" LDFLAGS="-L../bzip2"
cp pbzip2/pbzip2 $OUT`,
		runs: []run{{args: []string{"pbzip2", "-p4", "-b1", "-c", "-k", "text"}}},
	},
	{
		name:     "xz",
		packages: []string{"xz-utils"},
		build: `copy xz-utils; cd xz-utils
./configure -q --host=$HOST --disable-nls --disable-shared --disable-doc --disable-scripts
make -s -C src/liblzma && make -s -C src/xz $ALLSTATIC
cp src/xz/xz $OUT`,
		runs: []run{{args: []string{"xz", "-1", "-T4", "--block-size=70000", "-c", "text"}}},
	},
	{
		name:     "zstd",
		packages: []string{"libzstd"},
		build: `copy libzstd
make -s -C libzstd/programs CC="$CC" CFLAGS="$CFLAGS" HAVE_ZLIB=0 HAVE_LZMA=0 HAVE_LZ4=0 zstd
cp libzstd/programs/zstd $OUT`,
		runs: []run{{args: []string{"zstd", "-T4", "-B65536", "-c", "-q", "text"}}},
	},
	{
		name:     "sqlite",
		anyOrder: true,
		packages: []string{"sqlite3"},
		build: `copy sqlite3; cd sqlite3
CC=gcc ./configure -q --disable-tcl --disable-readline
make -s CC=gcc sqlite3.c
$CC $CFLAGS -w -pthread -I. -o $OUT/threadtest4 test/threadtest4.c sqlite3.c -lm`,
		runs: []run{
			{name: "shared connection", args: []string{"threadtest4", "--serialized", "2"}, write: true},
			{name: "own connections", args: []string{"threadtest4", "--multithread", "-wal", "2"}, write: true},
		},
	},
	{
		name:     "x264",
		packages: []string{"x264"},
		build: `copy x264; cd x264
./configure --host=riscv64-linux-gnu --cross-prefix=riscv64-linux-gnu- --disable-asm --enable-debug --disable-opencl --disable-avs --disable-lavf --disable-ffms --disable-gpac --disable-lsmash --disable-swscale
make -s x264
cp x264 $OUT`,
		runs: []run{{args: []string{"x264", "--quiet", "--threads", "4", "--preset", "veryfast", "-o", "-", "--demuxer", "y4m", "--muxer", "raw", "video.y4m"}}},
	},
	{
		name:     "memcached",
		packages: []string{"memcached", "libevent"},
		build: libeventBuild + `cd ..
copy memcached; cd memcached
./configure -q --host=$HOST --with-libevent=$PWD/../libevent/installed --disable-docs ac_cv_libevent_dir=$PWD/../libevent/installed
make -s memcached
$HOST-objcopy --redefine-sym main=server_main memcached-memcached.o
$CC $CFLAGS -pthread -o $OUT/memcached_clients ../drivers/memcached_clients.c memcached-*.o -L../libevent/installed/lib -levent`,
		runs: []run{{args: []string{"memcached_clients"}}},
	},
	{
		name:     "redis",
		packages: []string{"redis"},
		build: `copy redis
make -s -C redis/deps hiredis lua hdr_histogram linenoise AR="$AR" RANLIB="$RANLIB"
make -s -C redis/src MALLOC=libc OPTIMIZATION=-O2 redis-server
cd redis/src
$HOST-objcopy --redefine-sym main=server_main server.o
$CC $CFLAGS -pthread -rdynamic -o $OUT/redis_clients ../../drivers/redis_clients.c *.o ../deps/hiredis/libhiredis.a ../deps/lua/src/liblua.a ../deps/hdr_histogram/libhdrhistogram.a -lm -ldl`,
		runs: []run{{args: []string{"redis_clients"}}},
	},
	{
		name:     "flac",
		packages: []string{"flac/trixie"},
		build: `cmake -S $SRC/flac/tree -B . -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=riscv64 -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_SHARED_LIBS=OFF -DWITH_OGG=OFF -DBUILD_CXXLIBS=OFF -DBUILD_EXAMPLES=OFF -DBUILD_TESTING=OFF -DBUILD_DOCS=OFF -DINSTALL_MANPAGES=OFF
make -s flacapp
cp $(find . -name flac -type f -perm -1) $OUT`,
		runs: []run{{args: []string{"flac", "-s", "-j", "4", "-5", "--force-raw-format", "--endian=little", "--sign=unsigned", "--channels=1", "--bps=8", "--sample-rate=44100", "-c", "text"}}},
	},
	{
		name:     "libevent",
		packages: []string{"libevent"},
		build: libeventBuild + `rm -f test/regress; make -s test/regress $ALLSTATIC
cp test/regress $OUT`,
		runs: []run{{args: []string{"regress", "--no-fork", "--quiet", "--timeout", "3600", "thread/..", ":thread/forking"}}},
	},
	{
		name:     "libuv",
		packages: []string{"libuv1"},
		build: `cmake -S $SRC/libuv1/tree -B . -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_BUILD_TYPE=RelWithDebInfo
make -s uv_run_tests_a
cp uv_run_tests_a $OUT`,
		runs: uvTests("thread_mutex", "thread_rwlock", "barrier_2", "barrier_3", "condvar_1", "condvar_4", "semaphore_2", "thread_local_storage",
			"threadpool_queue_work_simple", "threadpool_cancel_work", "async", "thread_create"),
	},
	{
		name:     "onetbb",
		varies:   regexp.MustCompile(`assertions:.*`), // some are made while a thread waits
		packages: []string{"onetbb"},
		build: `shared=ON; test $KIND = dynamic || shared=OFF
cmake -S $SRC/onetbb/tree -B . -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=riscv64 -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_SHARED_LIBS=$shared -DCMAKE_BUILD_RPATH_USE_ORIGIN=ON -DTBB_STRICT=OFF -DTBBMALLOC_BUILD=OFF -DTBB_DISABLE_HWLOC_AUTOMATIC_SEARCH=ON -DCMAKE_CXX_STANDARD_LIBRARIES=-latomic
make -s test_task_group
cp *_relwithdebinfo/test_* $OUT
cp -L *_relwithdebinfo/libtbb.so.* $OUT 2>/dev/null || test $KIND = static`,
		runs: []run{
			{name: "task_group", args: []string{"test_task_group", "-tc=Cancellation*,Constant*,Move*,Async*,Run*,Respect*"}},
		},
	},
	{
		name:     "fasttree",
		packages: []string{"fasttree"},
		build:    `$CC $CFLAGS -fopenmp -DOPENMP -o $OUT/fasttree $SRC/fasttree/tree/fasttree.c -lm`,
		runs:     []run{{args: []string{"fasttree", "-nt", "-quiet", "-nopr", "alignment"}, env: []string{"OMP_NUM_THREADS=4"}}},
	},
	{
		name:     "healpix",
		only:     "dynamic", // linked statically it fails at its end, under qemu too
		packages: []string{"healpix-fortran"},
		build: `copy healpix-fortran; cd healpix-fortran/src/f90/mod
for f in healpix_types.F90 long_intrinsic.F90 extension.F90 misc_utils.F90 bit_manipulation.F90 indmed.f90 num_rec.F90 coord_v_convert.f90 statistics.f90 pix_tools.F90; do
  $FC $FFLAGS -fopenmp -I. -c $f
done
# Of the library for FITS files nothing is called.
echo 'void ftvers_(void) {} void ftexist_(void) {}' | $CC -c -xc -o fits.o -
$FC $FFLAGS -fopenmp -o $OUT/healpix_convert $OLDPWD/drivers/healpix_convert.f90 *.o`,
		runs: []run{
			{name: "tables filled by threads", args: []string{"healpix_convert", "lazily"}, env: []string{"OMP_NUM_THREADS=4"}},
			{name: "tables filled before", args: []string{"healpix_convert"}, env: []string{"OMP_NUM_THREADS=4"}},
		},
	},
	{
		name:     "fzf",
		packages: []string{"fzf"},
		build: `copy fzf; cd fzf
$HINDSIGHT go build -o $OUT/fzf .`,
		runs: []run{{args: []string{"fzf", "--filter", "abc"}, stdin: "text"}},
	},
	{
		name:     "mimalloc",
		varies:   regexp.MustCompile(`(?s).*`), // statistics
		packages: []string{"mimalloc"},
		build:    `$CC $CFLAGS -pthread -DNDEBUG -I$SRC/mimalloc/tree/include -o $OUT/stress $SRC/mimalloc/tree/src/static.c $SRC/mimalloc/tree/test/test-stress.c`,
		runs:     []run{{name: "stress test", args: []string{"stress", "4", "5", "3"}}},
	},
	{
		name:     "leveldb",
		packages: []string{"leveldb", "googletest"}, // a header of the benchmark names gmock
		varies:   regexp.MustCompile(` *[0-9.]+ (micros/op|MB/s)|Date:.*|CPU.*`),
		build: `cmake -S $SRC/leveldb/tree -B . -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLEVELDB_BUILD_TESTS=OFF -DLEVELDB_BUILD_BENCHMARKS=OFF -DHAVE_SNAPPY=OFF -DHAVE_CRC32C=OFF -DHAVE_TCMALLOC=OFF
make -s leveldb
$CXX $CXXFLAGS -pthread -I. -Iinclude -I$SRC/leveldb/tree -I$SRC/leveldb/tree/include -I$SRC/googletest/tree/googletest/include -I$SRC/googletest/tree/googlemock/include -DLEVELDB_PLATFORM_POSIX=1 -o $OUT/db_bench $SRC/leveldb/tree/benchmarks/db_bench.cc $SRC/leveldb/tree/util/testutil.cc $SRC/leveldb/tree/util/histogram.cc libleveldb.a`,
		runs: []run{{name: "db_bench", write: true, args: []string{"db_bench", "--db=db", "--threads=3", "--num=300", "--write_buffer_size=65536", "--benchmarks=fillrandom,readrandom,overwrite,readwhilewriting"}}},
	},
	{
		name:     "zeromq",
		packages: []string{"zeromq3"},
		build: `shared=ON; test $KIND = dynamic || shared=OFF
cmake -S $SRC/zeromq3/tree -B . -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_SHARED=$shared -DBUILD_STATIC=ON -DBUILD_TESTS=OFF -DWITH_PERF_TOOL=OFF -DWITH_DOCS=OFF -DENABLE_CURVE=OFF -DWITH_LIBSODIUM=OFF
make -s libzmq-static
for t in inproc_lat inproc_thr; do $CXX $CXXFLAGS -pthread -I. -I$SRC/zeromq3/tree/include -o $OUT/$t $SRC/zeromq3/tree/perf/$t.cpp lib/libzmq.a; done`,
		varies: regexp.MustCompile(`.*(latency|throughput).*`),
		runs:   []run{{name: "inproc_lat", args: []string{"inproc_lat", "100", "200"}}, {name: "inproc_thr", args: []string{"inproc_thr", "100", "3000"}}},
	},
	{
		name:     "coreutils",
		packages: []string{"coreutils"},
		build: `copy coreutils; cd coreutils
FORCE_UNSAFE_CONFIGURE=1 ./configure -q --host=$HOST --disable-nls --without-selinux --without-openssl --enable-no-install-program=stdbuf
echo 'built: $(BUILT_SOURCES)' >built.mk # headers, which only make all would generate
make -s -f Makefile -f built.mk built && make -s src/sort
cp src/sort $OUT`,
		runs: []run{{name: "sort --parallel=4", args: []string{"sort", "--parallel=4", "-S", "64M", "lines"}}},
	},
	{
		name: "rust",
		rust: true,
		build: `[ $KIND = dynamic ] || crt="-C target-feature=+crt-static"
$RUSTC $crt -o $OUT/threads drivers/threads.rs
$RUSTC $crt -o $OUT/unsafe drivers/unsafe.rs`,
		runs: []run{{name: "threads", args: []string{"threads"}}, {name: "unsafe", args: []string{"unsafe"}}},
	},
}

const libeventBuild = `copy libevent; cd libevent
./configure -q --host=$HOST --prefix=$PWD/installed --disable-shared --disable-openssl --disable-samples
make -s
make -s install >/dev/null
`

// uvTests runs single tests of libuv in the process itself.
func uvTests(names ...string) (runs []run) {
	for _, name := range names {
		runs = append(runs, run{name: name, args: []string{"uv_run_tests_a", name, name}, env: []string{"UV_RUN_AS_ROOT=1"}})
	}
	return runs
}
