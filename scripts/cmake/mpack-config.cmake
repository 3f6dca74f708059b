# SPDX-License-Identifier: Apache-2.0
# find_package(mpack) - the program mpack, MPACK_EXECUTABLE, and
#
#   mpack_add_library(NAME INPUT
#                     [STANDALONE]         carry the executor of its models (mpack build --standalone)
#                     [OUTPUT FILE]        default: NAME.so in the current binary folder
#                     [OPTIONS WORD...]    more options of mpack build
#                     [DEPENDS FILE...]    what makes a file that INPUT names, or a target that does
#                     [INSTALL FOLDER])    where it is installed
#
# INPUT is a manifest, or, with STANDALONE, a finished library. The target NAME is part of all; its property
# MPACK_LIBRARY is the path. The library is made again when a file changes that the last build has read: mpack writes which
# (--depfile), so that none is named twice. C sources go through the compiler of the project's C, where it has one.
# Debian calls it mpack-tvm: its mpack is another program.
find_program(MPACK_EXECUTABLE NAMES mpack-tvm mpack HINTS "${CMAKE_CURRENT_LIST_DIR}/../../../bin" NO_CACHE)
if(NOT MPACK_EXECUTABLE)
  set(mpack_FOUND FALSE)
  set(mpack_NOT_FOUND_MESSAGE "the program mpack is not in PATH; name it: -DMPACK_EXECUTABLE=FILE")
  return()
endif()

function(mpack_add_library name input)
  cmake_parse_arguments(PARSE_ARGV 2 arg "STANDALONE" "OUTPUT;INSTALL" "OPTIONS;DEPENDS")
  if(arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "mpack_add_library(${name}): ${arg_UNPARSED_ARGUMENTS}${arg_KEYWORDS_MISSING_VALUES} is wrong")
  endif()
  get_filename_component(input "${input}" ABSOLUTE)
  if(NOT arg_OUTPUT)
    set(arg_OUTPUT "${name}.so")
  endif()
  get_filename_component(output "${arg_OUTPUT}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
  set(words build "${input}" -o "${output}" --depfile "${output}.d")
  if(arg_STANDALONE)
    list(APPEND words --standalone)
  endif()
  if(CMAKE_C_COMPILER)
    list(APPEND words --cc "${CMAKE_C_COMPILER}")
  endif()
  if(CMAKE_CXX_COMPILER)
    list(APPEND words --cxx "${CMAKE_CXX_COMPILER}")
  endif()
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${MPACK_EXECUTABLE}" ${words} ${arg_OPTIONS}
    DEPENDS "${input}" "${MPACK_EXECUTABLE}" ${arg_DEPENDS}
    DEPFILE "${output}.d"
    COMMENT "Packing ${name}"
    VERBATIM)
  add_custom_target(${name} ALL DEPENDS "${output}")
  set_target_properties(${name} PROPERTIES MPACK_LIBRARY "${output}")
  if(arg_INSTALL)
    install(PROGRAMS "${output}" DESTINATION "${arg_INSTALL}")
  endif()
endfunction()
