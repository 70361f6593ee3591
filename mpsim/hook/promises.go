package hook

import "strings"

// What the documentation of the system's libraries promises, by the linker names of their
// functions.

// handsOver are the functions of the C library that return memory which they have
// allocated, and the functions that these call on the way to the allocator. A block belongs
// to the program if there are only such functions between the program's code and the
// allocator. Other blocks that these functions allocate (a stream's buffer, tables of a
// locale) do not.
var handsOver = names(
	"strdup", "__strdup", "strndup", "__strndup", "wcsdup", "__wcsdup",
	"asprintf", "__asprintf", "___asprintf", "vasprintf", "__vasprintf", "___vasprintf_chk", "__vasprintf_chk",
	"__asprintf_chk", "___asprintf_chk", "__vasprintf_internal", "_IO_vasprintf",
	"getline", "__getline", "getdelim", "__getdelim", "_IO_getdelim",
	"sscanf", "__sscanf", "__isoc99_sscanf", "__isoc23_sscanf", "___isoc99_sscanf", "vsscanf", "__isoc99_vsscanf", "_IO_vsscanf", "__vsscanf",
	"fscanf", "__fscanf", "__isoc99_fscanf", "__isoc23_fscanf", "scanf", "__scanf", "__isoc99_scanf", "__isoc23_scanf", "__vfscanf_internal",
	"realpath", "__realpath", "realpath_stk", "canonicalize_file_name", "getcwd", "__getcwd", "generic_getcwd", "get_current_dir_name",
	"tempnam", "scandir", "scandir64", "__scandir64", "scandirat", "scandirat64", "__scandir_tail", "__scandir64_tail", "__scandir_tail_common", "scandir_tail",
	"glob", "__glob", "glob64", "__glob64", "glob_in_dir", "next_brace_sub", "prefix_array",
	"tsearch", "__tsearch", "getifaddrs", "__getifaddrs", "getifaddrs_internal", "backtrace_symbols", "__backtrace_symbols",
	"argz_create", "__argz_create", "argz_add", "__argz_add", "argz_append", "__argz_append", "argz_create_sep", "__argz_create_sep",
	"_obstack_begin", "_obstack_begin_1", "_obstack_newchunk", "call_chunkfun",
	"hcreate", "hcreate_r", "__hcreate_r",
	// open_memstream: the content when the stream is closed.
	"fclose", "_IO_fclose", "_IO_new_fclose", "__new_fclose", "_IO_mem_finish", "_IO_wmem_finish",
	"sbrk", "__sbrk", "mremap", "__mremap", "mmap", "__mmap", "mmap64", "__mmap64", "shmat", "__shmat",
	// C++: an exception that the program throws, or that is thrown for it.
	"__cxa_allocate_exception", "__cxa_allocate_dependent_exception",
)

// isContainer reports whether a function belongs to a C++ container that was compiled into
// the library. The container's memory belongs to the owner of the object, and only the
// program guards it. (Containers that the program compiles itself are its own code.)
func isContainer(name string) bool {
	for _, prefix := range containers {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

var containers = []string{
	"_ZNSt7__cxx1112basic_string", "_ZNKSt7__cxx1112basic_string", // std::string
	"_ZNSs", "_ZNKSs", "_ZNSbI", "_ZNKSbI", // the string class before C++11, as in the texts of exceptions
	"_ZNSt7__cxx1115basic_stringbuf", "_ZNKSt7__cxx1115basic_stringbuf", "_ZNSt7__cxx1118basic_stringstream",
	"_ZNSt7__cxx1119basic_ostringstream", "_ZNSt7__cxx1119basic_istringstream",
	"_ZStplI", "_ZStrsI", "_ZSt7getlineI", // operator+, operator>>, getline
	"_ZNSt3pmr", "_ZNKSt3pmr", "_ZN12_GLOBAL__N_112newdel_res_t", // memory resources
	"_ZNSt10filesystem", "_ZNKSt10filesystem",
}

// allocators are the functions that allocate memory for their caller: the library's, or the
// program's replacements for them.
var allocators = names(
	"malloc", "__malloc", "__libc_malloc", "calloc", "__calloc", "__libc_calloc", "realloc", "__realloc", "__libc_realloc",
	"reallocarray", "__libc_reallocarray", "memalign", "__memalign", "__libc_memalign", "aligned_alloc", "posix_memalign", "__posix_memalign",
	"valloc", "__libc_valloc", "pvalloc", "__libc_pvalloc",
	"_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t", "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t",
	"_ZnwmSt11align_val_tRKSt9nothrow_t", "_ZnamSt11align_val_tRKSt9nothrow_t",
)

// forCaller are the functions that synchronise on an object of the code that calls them,
// and the functions that implement them. An initialisation that a library does once is
// internal to it. The order is promised regardless of the memory orders of the accesses:
// glibc's functions return after a failed compare-and-swap, which is relaxed, and reset the
// object with a relaxed store.
var forCaller = names(append(onces, "__pthread_once_slow", "clear_once_control")...)

var onces = []string{"pthread_once", "__pthread_once", "___pthread_once", "call_once",
	"__cxa_guard_acquire", "__cxa_guard_release", "__cxa_guard_abort"}

// promised reports whether a function of a library synchronises for the program through
// objects of the library.
func promised(name string) bool {
	for _, prefix := range promises {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

var promises = []string{
	"_ZNSt10_Sp_locker",   // atomic operations on a shared_ptr ([util.smartptr.shared.atomic])
	"libat_", "__atomic_", // atomic accesses without an instruction
	"_ZNSt3pmr20set_default_resource", "_ZNSt3pmr20get_default_resource", // [mem.res.global]
	"_ZSt15set_new_handler", "_ZSt15get_new_handler", // [new.handler], [terminate.handler] through [handler.functions]
	"_ZSt13set_terminate", "_ZSt13get_terminate",
}

// shared are objects of the C library that connect the program with the library's threads
// that serve its requests: asynchronous input and output, look-up of names, timers. A
// thread that a request starts is ordered after the request, and the thread that is
// notified is ordered after the end of the request.
var shared = []string{"__aio_requests_mutex", "__gai_requests_mutex", "__timer_active_sigev_thread_lock", "__timer_helper_once"}

// requests are the functions that lock such an object. A shared C library has no symbol for
// the object; there it is identified as the object that these functions lock.
var requests = names("aio_read", "aio_write", "aio_fsync", "aio_error", "aio_return", "aio_cancel", "aio_suspend", "lio_listio",
	"aio_read64", "aio_write64", "aio_fsync64", "aio_error64", "aio_return64", "aio_cancel64", "aio_suspend64", "lio_listio64",
	"getaddrinfo_a", "gai_error", "gai_cancel", "gai_suspend", "timer_create", "timer_delete")

func names(list ...string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, name := range list {
		set[name] = true
	}
	return set
}
