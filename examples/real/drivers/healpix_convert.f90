! HEALPix's parallel conversions between the two orders of a map's pixels, there and back.
! With an argument, the threads of the first conversions fill the tables.
program convert
  use healpix_types
  use pix_tools
  implicit none
  integer(i4b), parameter :: nside = 16
  real(sp) :: map(0:12*nside**2-1)
  integer(i4b) :: i, pixel
  do i = 0, size(map) - 1
    map(i) = real(i, sp)
  end do
  if (command_argument_count() == 0) then
    ! The first call of each fills tables, and must not be made by several threads at once.
    call ring2nest(nside, 0_i4b, pixel)
    call nest2ring(nside, 0_i4b, pixel)
  end if
  call convert_ring2nest(nside, map)
  print '(a,f12.1)', 'first nested ', map(0)
  call convert_nest2ring(nside, map)
  print '(a,l2)', 'same as before ', all(map == [(real(i, sp), i = 0, size(map) - 1)])
end program
