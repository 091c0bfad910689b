! Marks named regions of a Fortran program on the time line of its job; see docs/phases.md.
!
!     use plimsoll_mark
!     call plimsoll_begin("assemble")
!     ...
!     call plimsoll_end()
!
! Compile this file and plimsoll_mark.c with the program; there is nothing to link.
! In a program that is not recorded, a call does next to nothing.
module plimsoll_mark
  use, intrinsic :: iso_c_binding, only: c_char, c_size_t
  implicit none
  private
  public :: plimsoll_begin, plimsoll_end, plimsoll_point

  interface
    subroutine begin_in_c(name, length) bind(c, name="plimsoll_fortran_begin")
      import :: c_char, c_size_t
      character(kind=c_char), intent(in) :: name(*)
      integer(c_size_t), value :: length
    end subroutine
    subroutine point_in_c(name, length) bind(c, name="plimsoll_fortran_point")
      import :: c_char, c_size_t
      character(kind=c_char), intent(in) :: name(*)
      integer(c_size_t), value :: length
    end subroutine
    ! The innermost region of this thread ends.
    subroutine plimsoll_end() bind(c, name="plimsoll_fortran_end")
    end subroutine
  end interface

contains

  ! A region begins. Blanks at the end of the name do not count.
  subroutine plimsoll_begin(name)
    character(len=*), intent(in) :: name

    call begin_in_c(name, len_trim(name, kind=c_size_t))
  end subroutine

  ! A point in time.
  subroutine plimsoll_point(name)
    character(len=*), intent(in) :: name

    call point_in_c(name, len_trim(name, kind=c_size_t))
  end subroutine

end module
