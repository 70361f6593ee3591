! OpenMP in Fortran. Each pair is as pair.h has it: the correct program, and the
! broken one when the argument begins with race_. What the pair races on begins
! with its name. Nothing is printed through libgfortran, which a statically linked
! program for RISC-V may die in.
module twins
  use omp_lib
  implicit none
  integer :: loop_x(100), array_x(64), task_x, depend_x, critical_x, section_x(3)
  integer :: single_x, ordered_x, workshare_x(32), lock_x, private_x, atomic_x, atomic_plain
  integer :: reduce_x, descriptor_x(40), teams_x(24), target_x(24), taskloop_x(24), common_x
  integer :: detach_x, detach_y, doacross_x(0:20), threadprivate_x
  integer :: own = 3
  !$omp threadprivate(own)
  type pile
     integer, allocatable :: list(:)
     integer :: count = 0
  end type
contains

!PAIR(loop, "parallel do; do schedule(dynamic)")
  integer function loop(broken)
    logical, intent(in) :: broken
    integer :: i
    !$omp parallel num_threads(3)
    !$omp do
    do i = 1, 100
       loop_x(merge(1, i, broken)) = i
    end do
    !$omp end do
    !$omp do schedule(dynamic, 4)
    do i = 1, 100
       loop_x(i) = loop_x(i) + 1
    end do
    !$omp end do
    !$omp end parallel
    loop = sum(loop_x)
  end function

!PAIR(array, "assumed-shape and allocatable arrays in a region, private and firstprivate")
  integer function array(broken)
    logical, intent(in) :: broken
    integer, allocatable :: work(:), first(:)
    integer :: i
    allocate(work(8), first(4))
    first = 2
    !$omp parallel num_threads(3) private(work) firstprivate(first)
    work = omp_get_thread_num()
    first(1) = first(1) + work(1)
    !$omp do
    do i = 1, 64
       call fill(array_x, merge(1, i, broken), first)
    end do
    !$omp end do
    !$omp end parallel
    array = first(1) + size(work)
  end function

  subroutine fill(to, at, from)
    integer, intent(inout) :: to(:)
    integer, intent(in) :: at, from(:)
    to(at) = to(at) + from(2)
  end subroutine

!PAIR(descriptor, "sections of arrays, pointers and derived types")
  integer function descriptor(broken)
    logical, intent(in) :: broken
    type(pile), target :: p
    integer, pointer :: part(:)
    integer :: i, last
    allocate(p%list(40))
    p%list = 1
    !$omp parallel num_threads(2) private(part)
    part => p%list(1 + 20 * omp_get_thread_num() : 20 + 20 * omp_get_thread_num())
    part = part + 1
    if (broken) descriptor_x(1:3) = part(1:3)
    !$omp barrier
    !$omp do lastprivate(last)
    do i = 1, 40
       descriptor_x(i) = p%list(41 - i)
       last = i
    end do
    !$omp end do
    !$omp end parallel
    p%count = last
    descriptor = sum(descriptor_x) + p%count
  end function

!PAIR(task, "task firstprivate of an allocatable array, taskwait")
  integer function task(broken)
    logical, intent(in) :: broken
    integer, allocatable :: list(:)
    integer :: i
    allocate(list(10))
    list = 1
    !$omp parallel num_threads(3)
    !$omp single
    do i = 1, 4
       !$omp task firstprivate(list, i)
       list(i) = list(i) + i
       if (broken) then
          task_x = task_x + list(i)
       else
          !$omp critical
          task_x = task_x + list(i)
          !$omp end critical
       end if
       !$omp end task
       list(1) = list(1) + 1
    end do
    !$omp taskwait
    if (.not. broken) task_x = task_x + 1
    !$omp end single
    !$omp end parallel
    task = merge(0, task_x, broken)
  end function

!PAIR(depend, "task depend")
  integer function depend(broken)
    logical, intent(in) :: broken
    integer :: token, other
    !$omp parallel num_threads(3)
    !$omp single
    !$omp task depend(out: token)
    depend_x = 1
    !$omp end task
    if (broken) then
       !$omp task depend(in: other)
       depend_x = depend_x + 1
       !$omp end task
    else
       !$omp task depend(in: token)
       depend_x = depend_x + 1
       !$omp end task
    end if
    !$omp end single
    !$omp end parallel
    depend = merge(0, depend_x, broken)
  end function

!PAIR(detach, "task detach, omp_fulfill_event")
  integer function detach(broken)
    logical, intent(in) :: broken
    integer(omp_event_handle_kind) :: event
    integer :: token
    !$omp parallel num_threads(3)
    !$omp single
    !$omp task detach(event) depend(out: token)
    detach_x = 0
    !$omp end task
    !$omp task firstprivate(event)
    if (.not. broken) detach_y = 1
    call omp_fulfill_event(event)
    if (broken) detach_y = 1
    !$omp end task
    !$omp task depend(in: token)
    detach_x = detach_x + detach_y
    !$omp end task
    !$omp end single
    !$omp end parallel
    detach = merge(0, detach_x, broken)
  end function

!PAIR(taskloop, "taskloop with reduction")
  integer function taskloop(broken)
    logical, intent(in) :: broken
    integer :: i, all
    all = 0
    !$omp parallel num_threads(3)
    !$omp single
    !$omp taskloop reduction(+:all) num_tasks(4)
    do i = 1, 24
       all = all + i
       taskloop_x(merge(1, i, broken)) = i
    end do
    !$omp end taskloop
    !$omp end single
    !$omp end parallel
    taskloop = all
  end function

!PAIR(critical, "critical with names")
  integer function critical(broken)
    logical, intent(in) :: broken
    integer :: i
    !$omp parallel num_threads(3) private(i)
    do i = 1, 4
       if (broken .and. omp_get_thread_num() == 1) then
          !$omp critical (second)
          critical_x = critical_x + 1
          !$omp end critical (second)
       else
          !$omp critical (first)
          critical_x = critical_x + 1
          !$omp end critical (first)
       end if
    end do
    !$omp end parallel
    critical = merge(0, critical_x, broken)
  end function

!PAIR(section, "sections")
  integer function section(broken)
    logical, intent(in) :: broken
    !$omp parallel num_threads(3)
    if (broken) then
       !$omp sections
       !$omp section
       section_x(1) = 1
       !$omp section
       section_x(2) = 2
       !$omp end sections nowait
    else
       !$omp sections
       !$omp section
       section_x(1) = 1
       !$omp section
       section_x(2) = 2
       !$omp end sections
    end if
    if (section_x(1) + section_x(2) == 50) call omp_set_num_threads(1)
    !$omp end parallel
    section = sum(section_x)
  end function

!PAIR(single, "single copyprivate")
  integer function single(broken)
    logical, intent(in) :: broken
    integer :: v
    !$omp parallel num_threads(3) private(v)
    !$omp single
    single_x = 4
    v = 5
    !$omp end single copyprivate(v)
    if (broken) single_x = v
    !$omp end parallel
    single = single_x
  end function

!PAIR(ordered, "do ordered")
  integer function ordered(broken)
    logical, intent(in) :: broken
    integer :: i
    !$omp parallel do num_threads(3) ordered schedule(dynamic)
    do i = 1, 9
       if (broken) ordered_x = ordered_x + i
       !$omp ordered
       ordered_x = ordered_x * 2 + i
       !$omp end ordered
    end do
    ordered = merge(0, ordered_x, broken)
  end function

!PAIR(doacross, "do ordered(1), depend(sink), depend(source)")
  integer function doacross(broken)
    logical, intent(in) :: broken
    integer :: i
    !$omp parallel do num_threads(3) ordered(1) schedule(static, 1)
    do i = 1, 20
       !$omp ordered depend(sink: i - 1)
       doacross_x(i) = doacross_x(i - 1) + 1
       !$omp ordered depend(source)
       if (broken) doacross_x(0) = i
    end do
    doacross = merge(0, doacross_x(20), broken)
  end function

!PAIR(workshare, "workshare")
  integer function workshare(broken)
    logical, intent(in) :: broken
    !$omp parallel num_threads(3)
    !$omp workshare
    workshare_x = 3
    where (workshare_x > 2) workshare_x = workshare_x + 1
    !$omp end workshare
    if (broken) workshare_x(1) = workshare_x(2)
    !$omp end parallel
    workshare = sum(workshare_x)
  end function

!PAIR(lock, "omp_set_lock, omp_test_nest_lock")
  integer function lock(broken)
    logical, intent(in) :: broken
    integer(omp_lock_kind) :: l
    integer(omp_nest_lock_kind) :: n
    integer :: depth
    call omp_init_lock(l)
    call omp_init_nest_lock(n)
    !$omp parallel num_threads(3) private(depth)
    call omp_set_lock(l)
    lock_x = lock_x + 1
    call omp_unset_lock(l)
    !$omp barrier
    call omp_set_nest_lock(n)
    depth = omp_test_nest_lock(n)
    if (.not. broken) lock_x = lock_x + depth
    call omp_unset_nest_lock(n)
    call omp_unset_nest_lock(n)
    if (broken) lock_x = lock_x + depth
    !$omp end parallel
    call omp_destroy_lock(l)
    call omp_destroy_nest_lock(n)
    lock = merge(0, lock_x, broken)
  end function

!PAIR(atomic, "atomic update and capture")
  integer function atomic(broken)
    logical, intent(in) :: broken
    integer :: mine
    !$omp parallel num_threads(3) private(mine)
    !$omp atomic
    atomic_x = atomic_x + 2
    !$omp atomic capture
    mine = atomic_x
    atomic_x = atomic_x + 1
    !$omp end atomic
    if (broken) atomic_plain = mine
    !$omp end parallel
    atomic = atomic_x
  end function

!PAIR(reduce, "reductions of scalars and of an array")
  integer function reduce(broken)
    logical, intent(in) :: broken
    integer :: i, all, most, part(4)
    all = 0
    most = 0
    part = 0
    !$omp parallel do num_threads(3) reduction(+:all, part) reduction(max:most)
    do i = 1, 40
       all = all + i
       most = max(most, i)
       part(1 + mod(i, 4)) = part(1 + mod(i, 4)) + i
       if (broken) reduce_x = i
    end do
    reduce = all + most + sum(part)
  end function

!PAIR(threadprivate, "threadprivate, copyin")
  integer function threadprivate(broken)
    logical, intent(in) :: broken
    integer :: all
    all = 0
    !$omp parallel num_threads(3) copyin(own) reduction(+:all)
    own = own + 1
    all = all + own
    if (broken) threadprivate_x = all
    !$omp end parallel
    threadprivate = all
  end function

!PAIR(teams, "teams distribute parallel do")
  integer function teams(broken)
    logical, intent(in) :: broken
    integer :: i
    !$omp teams distribute parallel do num_teams(3) num_threads(2)
    do i = 1, 24
       teams_x(merge(1, i, broken)) = i
    end do
    teams = merge(0, sum(teams_x), broken)
  end function

!PAIR(target, "target teams distribute, target nowait depend")
  integer function target(broken)
    logical, intent(in) :: broken
    integer :: i
    !$omp target teams distribute map(tofrom: target_x) num_teams(3)
    do i = 1, 24
       target_x(merge(1, i, broken)) = i
    end do
    !$omp parallel num_threads(3)
    !$omp single
    !$omp target nowait map(tofrom: target_x) depend(out: target_x)
    target_x(1) = 4
    !$omp end target
    !$omp task depend(in: target_x)
    target_x(2) = target_x(1)
    !$omp end task
    !$omp end single
    !$omp end parallel
    target = merge(0, sum(target_x), broken)
  end function

end module

program main
  use twins
  use iso_c_binding
  implicit none
  interface
     subroutine leave(status) bind(C, name="_exit")
       import c_int
       integer(c_int), value :: status
     end subroutine
     integer(c_long) function put(file, text, size) bind(C, name="write")
       import c_int, c_long, c_char, c_size_t
       integer(c_int), value :: file
       character(kind=c_char), intent(in) :: text(*)
       integer(c_size_t), value :: size
     end function
  end interface
  character(len=64) :: want
  character(len=12) :: text
  logical :: broken
  integer :: v, digit, name, n
  integer(c_long) :: done
  call get_command_argument(1, want)
  broken = want(1:5) == 'race_'
  name = merge(6, 8, broken)
  v = 0
  select case (want(name:))
  case ('loop'); v = loop(broken)
  case ('array'); v = array(broken)
  case ('descriptor'); v = descriptor(broken)
  case ('task'); v = task(broken)
  case ('depend'); v = depend(broken)
  case ('detach'); v = detach(broken)
  case ('taskloop'); v = taskloop(broken)
  case ('critical'); v = critical(broken)
  case ('section'); v = section(broken)
  case ('single'); v = single(broken)
  case ('ordered'); v = ordered(broken)
  case ('doacross'); v = doacross(broken)
  case ('workshare'); v = workshare(broken)
  case ('lock'); v = lock(broken)
  case ('atomic'); v = atomic(broken)
  case ('reduce'); v = reduce(broken)
  case ('threadprivate'); v = threadprivate(broken)
  case ('teams'); v = teams(broken)
  case ('target'); v = target(broken)
  case default; call leave(2)
  end select
  n = 12
  text(n:n) = achar(10)
  do
     digit = mod(v, 10)
     v = v / 10
     n = n - 1
     text(n:n) = achar(48 + digit)
     if (v == 0) exit
  end do
  done = put(1, text(n:), int(13 - n, c_size_t))
  call leave(merge(0, 1, done > 0))
end program
