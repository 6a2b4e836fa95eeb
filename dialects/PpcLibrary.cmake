# How libraries of the compiler are declared:
#   ppc_library(Name sources... [LINK libs...])
# A static library, with RTTI exactly when the packaged LLVM has it, sharing one precompiled header.
#   ppc_data_library(Name sources... [LINK libs...])   the same without IR
#   ppc_tablegen(File.td Output.h.inc -gen-...)   generates <build>/<current dir>/Output.h.inc

function(ppc_compiler_options target)
  if(NOT LLVM_ENABLE_RTTI)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
  endif()
endfunction()

# The headers that nearly every file of the compiler includes, compiled once.
if(PPC_PRECOMPILED_HEADERS)
  file(WRITE ${CMAKE_BINARY_DIR}/PpcPrecompiled.cpp "// anchor of the precompiled header\n")
  add_library(PpcPrecompiled STATIC ${CMAKE_BINARY_DIR}/PpcPrecompiled.cpp)
  ppc_compiler_options(PpcPrecompiled)
  target_precompile_headers(PpcPrecompiled PRIVATE
    <map> <memory> <optional> <string> <vector>
    <llvm/ADT/STLExtras.h> <llvm/ADT/SmallVector.h> <llvm/ADT/StringMap.h> <llvm/ADT/TypeSwitch.h> <llvm/Support/raw_ostream.h>
    <mlir/IR/Builders.h> <mlir/IR/BuiltinAttributes.h> <mlir/IR/BuiltinOps.h> <mlir/IR/BuiltinTypes.h>
    <mlir/IR/Dialect.h> <mlir/IR/DialectImplementation.h> <mlir/IR/OpDefinition.h> <mlir/IR/OpImplementation.h> <mlir/IR/PatternMatch.h>
    <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Interfaces/InferTypeOpInterface.h> <mlir/Pass/Pass.h>
    <mlir/Dialect/Func/IR/FuncOps.h>)
endif()

function(ppc_library name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  ppc_compiler_options(${name})
  add_dependencies(${name} ppc-generated)
  target_link_libraries(${name} PUBLIC ${arg_LINK})
  if(PPC_PRECOMPILED_HEADERS)
    target_precompile_headers(${name} REUSE_FROM PpcPrecompiled)
  endif()
endfunction()

# ppc_embed(<output> <file>...): writes <build>/<current dir>/<output>, C++ text with one `{"stem", R"(contents)"},` per file,
# so that the data of files travels inside the program. Written again whenever a file changes.
function(ppc_embed output)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${output})
  set(text "// Generated from the files beside CMakeLists.txt.\n")
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    file(READ ${CMAKE_CURRENT_SOURCE_DIR}/${file} contents)
    get_filename_component(stem ${file} NAME_WLE)
    string(APPEND text "{\"${stem}\", R\"ppc(${contents})ppc\"},\n")
  endforeach()
  file(GENERATE OUTPUT ${out} CONTENT "${text}")
endfunction()

# A library of plain data and algorithms: no IR, so nothing generated to wait for and no precompiled MLIR headers.
function(ppc_data_library name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  ppc_compiler_options(${name})
  target_link_libraries(${name} PUBLIC ${arg_LINK})
endfunction()

# A program of such libraries only: it builds in seconds, without MLIR.
function(ppc_data_executable name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  ppc_compiler_options(${name})
  target_link_libraries(${name} PRIVATE ${arg_LINK} LLVM)
endfunction()

# A program of the compiler: our libraries, then the two shared libraries of LLVM and MLIR.
function(ppc_executable name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  ppc_compiler_options(${name})
  add_dependencies(${name} ppc-generated)
  target_link_libraries(${name} PRIVATE ${arg_LINK} MLIR LLVM)
  # CMake would compile a program with -fPIE, and the precompiled header is compiled with -fPIC.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)
  if(PPC_PRECOMPILED_HEADERS)
    target_precompile_headers(${name} REUSE_FROM PpcPrecompiled)
  endif()
endfunction()

# A library that a program without MLIR opens when it needs some: lib/<name>.so, which exports only what says so.
function(ppc_module name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_library(${name} MODULE ${arg_UNPARSED_ARGUMENTS})
  ppc_compiler_options(${name})
  add_dependencies(${name} ppc-generated)
  target_link_libraries(${name} PRIVATE ${arg_LINK} MLIR LLVM)
  target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL)
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".so")
  if(PPC_PRECOMPILED_HEADERS)
    target_precompile_headers(${name} REUSE_FROM PpcPrecompiled)
  endif()
endfunction()

# ppc_tablegen(<td> <output> <mlir-tblgen arguments>...) [repeatable per directory]
function(ppc_tablegen td output)
  string(MAKE_C_IDENTIFIER "${CMAKE_CURRENT_SOURCE_DIR}_${output}" id)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${output})
  get_filename_component(dir ${out} DIRECTORY)
  file(MAKE_DIRECTORY ${dir})
  add_custom_command(OUTPUT ${out}
    COMMAND ${MLIR_TABLEGEN_EXE} ${ARGN} -I ${PROJECT_SOURCE_DIR} -I ${PROJECT_SOURCE_DIR}/include -I ${MLIR_INCLUDE_DIRS}
            ${CMAKE_CURRENT_SOURCE_DIR}/${td} --write-if-changed -d ${out}.d -o ${out}
    DEPFILE ${out}.d DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${td}
    COMMENT "Generating ${output}")
  add_custom_target(gen${id} DEPENDS ${out})
  add_dependencies(ppc-generated gen${id})
endfunction()
