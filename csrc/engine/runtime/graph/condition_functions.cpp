// The functions of a program that captures conditional tasks.

#include "engine/runtime/call/faultable.h"
#include "engine/runtime/graph/capture.h"
#include "engine/runtime/graph/condition.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {

static std::shared_ptr<Graph> find_captured_graph(aclmdlRI handle) {
    auto graph = find_graph(handle);
    if (graph->is_complete())
        refuse(ACL_ERROR_RT_PARAM_INVALID, "modelRI", "a graph that is captured", text("graph ", graph->id(), ", whose capture has ended"));
    return graph;
}

// An IF has a branch for true, and may have one for false.
static void require_branches(aclmdlRICondTaskType type, uint32_t size) {
    const bool fits = type == ACL_MODEL_RI_COND_TYPE_SWITCH  ? size > 0
                      : type == ACL_MODEL_RI_COND_TYPE_WHILE ? size == 1
                                                             : size == 1 || size == 2;
    const char* const expected = type == ACL_MODEL_RI_COND_TYPE_SWITCH  ? "at least 1"
                                 : type == ACL_MODEL_RI_COND_TYPE_WHILE ? "1"
                                                                        : "1 or 2";
    if (!fits) refuse(ACL_ERROR_RT_PARAM_INVALID, "params.size", expected, std::to_string(size));
}

static void add_conditional_task(const aclmdlRICondTaskParams& params, Stream& stream) {
    const auto capture = Capture::of(stream);
    if (capture == nullptr)
        refuse(ACL_ERROR_RT_PARAM_INVALID, "stream", "one that is captured", text("stream ", stream.id(), ", which is not"));
    const auto graph = find_graph(capture->graph());
    const auto condition = find_condition(params.handle);
    if (!condition->is_of(*graph))
        refuse(ACL_ERROR_RT_PARAM_INVALID, "params.handle", text("a condition of graph ", graph->id()), "one of another graph");
    if (params.type < ACL_MODEL_RI_COND_TYPE_IF || params.type > ACL_MODEL_RI_COND_TYPE_SWITCH)
        refuse(ACL_ERROR_RT_PARAM_INVALID, "params.type", "a value in 0..2", std::to_string(params.type));
    require_branches(params.type, params.size);
    require_pointer("params.modelRIArray", params.modelRIArray);
    std::vector<std::shared_ptr<Graph>> branches;
    for (uint32_t i = 0; i < params.size; ++i) branches.push_back(std::make_shared<Graph>(graph->device()));
    stream.submit(std::make_unique<ConditionalTask>(condition, params.type, branches));
    for (uint32_t i = 0; i < params.size; ++i) params.modelRIArray[i] = add_branch(*graph, branches[i]);
}
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" aclError aclmdlRICondHandleCreate(aclmdlRI modelRI, uint32_t defaultLaunchValue, aclmdlRICondHandleFlag flag,
                                             aclmdlRICondHandle* handle) {
    return traced(can_fail(__func__),
                  call_arguments("modelRI", modelRI, "defaultLaunchValue", defaultLaunchValue, "flag", static_cast<int>(flag), "handle",
                                 value_at(handle)),
                  [&] {
                      require_pointer("handle", handle);
                      *handle = nullptr;
                      if (flag != 0 && flag != ACL_MODEL_RI_COND_HANDLE_ASSIGN_DEFAULT)
                          refuse(ACL_ERROR_RT_PARAM_INVALID, "flag", "0 or 1", std::to_string(flag));
                      *handle = add_condition(find_captured_graph(modelRI), defaultLaunchValue, flag != 0);
                  });
}

extern "C" aclError aclmdlRICondHandleGetCondPtr(aclmdlRICondHandle handle, uint64_t** ptr) {
    return write_result(__func__, "ptr", ptr, [&] { return static_cast<uint64_t*>(find_condition(handle)->address()); });
}

extern "C" aclError aclmdlRIAddCondTask(aclmdlRICondTaskParams params, aclrtStream stream, uint32_t flags) {
    return traced(can_fail(__func__),
                  call_arguments("handle", params.handle, "type", static_cast<int>(params.type), "size", params.size).on(stream), [&] {
                      if (flags != 0) refuse(ACL_ERROR_RT_PARAM_INVALID, "flags", "0", std::to_string(flags));
                      add_conditional_task(params, *find_usable_stream(stream));
                  });
}

// The capture goes into a branch of a conditional task.
extern "C" aclError aclmdlRICaptureToModelRIBegin(aclrtStream stream, aclmdlRI modelRI, aclmdlRICaptureMode mode) {
    return traced(can_fail(__func__), call_arguments("modelRI", modelRI, "mode", static_cast<int>(mode)).on(stream),
                  [&] { Capture::begin_branch(find_usable_stream(stream), modelRI, require_capture_mode(mode)); });
}
