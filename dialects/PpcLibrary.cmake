# How libraries of the compiler are declared:
#   ppc_library(Name sources... [LINK libs...] [TOGETHER count] [APART files...])
# A static library, with RTTI exactly when the packaged LLVM has it, sharing one precompiled header.
#   ppc_data_library(Name sources... [LINK libs...] [APART files...])   the same without IR
#   ppc_tablegen(File.td Output.h.inc -gen-...)   generates <build>/<current dir>/Output.h.inc

function(ppc_compiler_options target)
  if(NOT LLVM_ENABLE_RTTI)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti>)
  endif()
endfunction()

# ppc_compile_together(<target> <count> [APART file...]): compiles the files of each folder `count` at a time, so that what
# they all include is read once. Names of a file's own are then seen by its neighbours: they differ, or the file is named
# under APART. -DPPC_COMPILE_TOGETHER=OFF compiles every file alone, as does COMPILE_OPTIONS of a file. With AddressSanitizer the
# readers that fuzzers link once more, instrumented, are compiled alone: the library's object of such a file is then left out whole.
set(PPC_FUZZED_READERS Support/JsonReader Support/JsonText Support/YamlReader Model/ConfigReader Model/ConfigFamilies Cluster/ClusterReader
    Cluster/LevelReader Cluster/Device Cluster/ClusterWriter Planning/Files/ChainPlanFile Planning/Files/LayoutFile Planning/Chain/OpStrategy
    Planning/PlanConstraints)
list(TRANSFORM PPC_FUZZED_READERS PREPEND ${PROJECT_SOURCE_DIR}/lib/)
list(TRANSFORM PPC_FUZZED_READERS APPEND .cpp)
function(ppc_compile_together target count)
  if(NOT PPC_COMPILE_TOGETHER)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "APART" ${ARGN})
  get_target_property(sources ${target} SOURCES)
  set(fuzzed)
  if("${PPC_SANITIZE}" MATCHES address)
    set(fuzzed ${PPC_FUZZED_READERS})
  endif()
  set(folders)
  foreach(source ${sources})
    get_filename_component(folder "/${source}" DIRECTORY)
    string(MAKE_C_IDENTIFIER "files${folder}" folder)
    if(NOT source MATCHES "\\.cpp$" OR source IN_LIST arg_APART OR "${CMAKE_CURRENT_SOURCE_DIR}/${source}" IN_LIST fuzzed)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    else()
      list(APPEND folders ${folder})
      list(APPEND ${folder} ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})
    # As few groups as possible, of about equal sizes.
    list(LENGTH ${folder} length)
    math(EXPR groups "(${length} + ${count} - 1) / ${count}")
    set(index 0)
    foreach(source ${${folder}})
      math(EXPR group "${index} * ${groups} / ${length}")
      math(EXPR index "${index} + 1")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${group})
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# The headers that nearly every file includes, compiled once: of plain data, and of the compiler.
set(PPC_DATA_HEADERS
  <algorithm> <cmath> <cstdint> <functional> <limits> <map> <memory> <numeric> <optional> <set> <string> <tuple> <vector>
  <llvm/ADT/ArrayRef.h> <llvm/ADT/STLExtras.h> <llvm/ADT/SmallVector.h> <llvm/ADT/StringExtras.h> <llvm/ADT/Twine.h>
  <llvm/Support/Error.h> <llvm/Support/FormatVariadic.h> <llvm/Support/raw_ostream.h>)
set(PPC_IR_HEADERS
  <map> <memory> <optional> <string> <vector>
  <llvm/ADT/STLExtras.h> <llvm/ADT/SmallVector.h> <llvm/ADT/StringMap.h> <llvm/ADT/TypeSwitch.h> <llvm/Support/raw_ostream.h>
  <mlir/IR/Builders.h> <mlir/IR/BuiltinAttributes.h> <mlir/IR/BuiltinOps.h> <mlir/IR/BuiltinTypes.h>
  <mlir/IR/Dialect.h> <mlir/IR/DialectImplementation.h> <mlir/IR/OpDefinition.h> <mlir/IR/OpImplementation.h> <mlir/IR/PatternMatch.h>
  <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Interfaces/InferTypeOpInterface.h> <mlir/Pass/Pass.h>
  <mlir/Dialect/Func/IR/FuncOps.h> "${PROJECT_SOURCE_DIR}/dialects/ppc/Ppc.h" "${PROJECT_SOURCE_DIR}/dialects/ppcrt/PpcRt.h")
function(ppc_precompile name)
  file(WRITE ${CMAKE_BINARY_DIR}/${name}.cpp "// anchor of the precompiled header\n")
  add_library(${name} STATIC ${CMAKE_BINARY_DIR}/${name}.cpp)
  ppc_compiler_options(${name})
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()
if(PPC_PRECOMPILED_HEADERS)
  ppc_precompile(PpcDataPrecompiled ${PPC_DATA_HEADERS})
  ppc_precompile(PpcPrecompiled ${PPC_IR_HEADERS})
  add_dependencies(PpcPrecompiled ppc-generated)
endif()

# Uses one of them. CMake would compile a program with -fPIE, and the precompiled headers are compiled with -fPIC.
function(ppc_reuse_precompiled target precompiled)
  if(NOT PPC_PRECOMPILED_HEADERS)
    return()
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
endfunction()

function(ppc_library name)
  cmake_parse_arguments(arg "" "TOGETHER" "LINK;APART" ${ARGN})
  if(NOT arg_TOGETHER)
    set(arg_TOGETHER 6)
  endif()
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  ppc_compiler_options(${name})
  add_dependencies(${name} ppc-generated)
  target_link_libraries(${name} PUBLIC ${arg_LINK})
  ppc_compile_together(${name} ${arg_TOGETHER} APART ${arg_APART})
  ppc_reuse_precompiled(${name} PpcPrecompiled)
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

# A library of plain data and algorithms: no IR, so nothing generated to wait for.
function(ppc_data_library name)
  cmake_parse_arguments(arg "" "" "LINK;APART" ${ARGN})
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  ppc_compiler_options(${name})
  target_link_libraries(${name} PUBLIC ${arg_LINK})
  ppc_compile_together(${name} 8 APART ${arg_APART})
  ppc_reuse_precompiled(${name} PpcDataPrecompiled)
endfunction()

# A program of such libraries only: it builds in seconds, without MLIR.
function(ppc_data_executable name)
  cmake_parse_arguments(arg "" "" "LINK;APART" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  ppc_compiler_options(${name})
  target_link_libraries(${name} PRIVATE ${arg_LINK} LLVM)
  ppc_compile_together(${name} 8 APART ${arg_APART})
  ppc_reuse_precompiled(${name} PpcDataPrecompiled)
endfunction()

# A program of the compiler: our libraries, then the two shared libraries of LLVM and MLIR.
function(ppc_executable name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  ppc_compiler_options(${name})
  add_dependencies(${name} ppc-generated)
  target_link_libraries(${name} PRIVATE ${arg_LINK} MLIR LLVM)
  ppc_compile_together(${name} 6)
  ppc_reuse_precompiled(${name} PpcPrecompiled)
endfunction()

# A library that a program without MLIR opens on demand: lib/<name>.so, which exports only marked symbols.
function(ppc_module name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_library(${name} MODULE ${arg_UNPARSED_ARGUMENTS})
  ppc_compiler_options(${name})
  add_dependencies(${name} ppc-generated)
  target_link_libraries(${name} PRIVATE ${arg_LINK} MLIR LLVM)
  target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL)
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".so")
  ppc_reuse_precompiled(${name} PpcPrecompiled)
endfunction()

# ppc_tablegen(<td> <output> <arguments>...) [repeatable per directory]: by mlir-tblgen; tables of plain data by llvm-tblgen
function(ppc_tablegen td output)
  string(MAKE_C_IDENTIFIER "${CMAKE_CURRENT_SOURCE_DIR}_${output}" id)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${output})
  get_filename_component(dir ${out} DIRECTORY)
  file(MAKE_DIRECTORY ${dir})
  set(tablegen ${MLIR_TABLEGEN_EXE})
  if("-gen-searchable-tables" IN_LIST ARGN)
    set(tablegen ${LLVM_TOOLS_BINARY_DIR}/llvm-tblgen)
  endif()
  add_custom_command(OUTPUT ${out}
    COMMAND ${tablegen} ${ARGN} -I ${PROJECT_SOURCE_DIR} -I ${PROJECT_SOURCE_DIR}/include -I ${MLIR_INCLUDE_DIRS}
            ${CMAKE_CURRENT_SOURCE_DIR}/${td} --write-if-changed -d ${out}.d -o ${out}
    DEPFILE ${out}.d DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${td}
    COMMENT "Generating ${output}")
  add_custom_target(gen${id} DEPENDS ${out})
  add_dependencies(ppc-generated gen${id})
endfunction()
