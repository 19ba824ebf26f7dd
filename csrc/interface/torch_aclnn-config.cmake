# find_package(torch_aclnn): the host engine as targets. `torch-aclnn config --cmake` prints the folder of this file.
#
#     torch_aclnn::aclnn      what a program of the aclnn operators links
#     torch_aclnn::custom_operator  the headers for a library of entry points of one's own, which links nothing
#     torch_aclnn::<library>  ascendcl, nnopbase, opapi, acl_op_compiler, hccl
get_filename_component(torch_aclnn_TOOLKIT_DIR "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

foreach(library ascendcl nnopbase opapi acl_op_compiler hccl)
    if(NOT TARGET torch_aclnn::${library})
        add_library(torch_aclnn::${library} SHARED IMPORTED)
        set_target_properties(
            torch_aclnn::${library}
            PROPERTIES IMPORTED_LOCATION "${torch_aclnn_TOOLKIT_DIR}/lib64/lib${library}.so"
                       IMPORTED_SONAME lib${library}.so
                       INTERFACE_INCLUDE_DIRECTORIES "${torch_aclnn_TOOLKIT_DIR}/include")
    endif()
endforeach()

if(NOT TARGET torch_aclnn::custom_operator)
    add_library(torch_aclnn::custom_operator INTERFACE IMPORTED)
    set_target_properties(torch_aclnn::custom_operator PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${torch_aclnn_TOOLKIT_DIR}/include"
                                                            INTERFACE_COMPILE_FEATURES cxx_std_17)
endif()

if(NOT TARGET torch_aclnn::aclnn)
    add_library(torch_aclnn::aclnn INTERFACE IMPORTED)
    set_target_properties(torch_aclnn::aclnn PROPERTIES INTERFACE_LINK_LIBRARIES
                                                        "torch_aclnn::opapi;torch_aclnn::nnopbase;torch_aclnn::ascendcl")
endif()
