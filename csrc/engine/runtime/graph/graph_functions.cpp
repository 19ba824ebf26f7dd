// The functions of a program that has captured a graph.

#include <cstdio>

#include "acl/acl_mdl.h"
#include "engine/runtime/call/faultable.h"
#include "engine/runtime/graph/graph.h"
#include "engine/runtime/stream/recorder.h"
#include "engine/runtime/stream/stream.h"

namespace torch_aclnn::host {
namespace {

void require_replay(const Graph& graph, const Stream& stream) {
    if (stream.device() != graph.device())
        refuse(ACL_ERROR_RT_PARAM_INVALID, "stream", text("one of device ", graph.device(), " like the graph"),
               text("stream ", stream.id(), " of device ", stream.device()));
    if (const auto recorder = stream.recorder()) recorder->refuse_wait(stream);
}

std::string description(const Graph& graph, const Graph::Step& step) {
    switch (step.kind) {
        case Graph::StepKind::record: return text("records event ", step.point);
        case Graph::StepKind::wait: return text("waits for event ", step.point);
        case Graph::StepKind::task: break;
    }
    return graph.task_of(static_cast<size_t>(&step - graph.steps().data()))->task->name();
}

void print(const Graph& graph) {
    std::fprintf(stderr, "torch_aclnn: graph %u of device %d, %zu steps\n", graph.id(), graph.device(), graph.steps().size());
    for (size_t i = 0; i < graph.steps().size(); ++i) {
        const Graph::Step& step = graph.steps()[i];
        std::fprintf(stderr, "torch_aclnn:   step %zu, stream %d: %s\n", i, graph.stream_number(step.stream),
                     description(graph, step).c_str());
    }
}

// A step is a microsecond long, and its stream a thread.
std::string json_of_step(const Graph& graph, size_t index) {
    const Graph::Step& step = graph.steps()[index];
    JsonObject arguments;
    arguments.add("modelId", graph.id());
    arguments.add("taskId", index);
    JsonObject event;
    event.add("name", description(graph, step));
    event.add("ph", "X");
    event.add("pid", graph.device());
    event.add("tid", graph.stream_number(step.stream));
    event.add("ts", index);
    event.add("dur", 1);
    event.add_json("args", arguments.text());
    return event.text();
}

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

void write_json(const Graph& graph, const char* path) {
    const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path, "w"));
    if (file == nullptr) refuse(ACL_ERROR_RT_PARAM_INVALID, "path", "a file that can be written", path);
    std::fputs("[", file.get());
    for (size_t i = 0; i < graph.steps().size(); ++i)
        std::fprintf(file.get(), "%s%s", i == 0 ? "\n" : ",\n", json_of_step(graph, i).c_str());
    if (std::fputs("\n]\n", file.get()) < 0 || std::fflush(file.get()) != 0)
        refuse(ACL_ERROR_RT_PARAM_INVALID, "path", "a file that can be written", path);
}

}  // namespace
}  // namespace torch_aclnn::host

using namespace torch_aclnn::host;

extern "C" aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream) {
    return traced(can_fail(__func__), call_arguments("modelRI", modelRI).on(stream), [&] {
        const auto graph = find_complete_graph(modelRI);
        const auto where = find_usable_stream(stream);
        require_replay(*graph, *where);
        graph->replay(*where);
    });
}

// Runs the graph on the default stream of its device, which must be the thread's.
extern "C" aclError aclmdlRIExecute(aclmdlRI modelRI, int32_t timeout) {
    if (timeout != -1 && timeout <= 0)
        return guarded(__func__,
                       [&] { refuse(ACL_ERROR_RT_PARAM_INVALID, "timeout", "-1 (forever) or at least 1 ms", std::to_string(timeout)); });
    const aclError launched = aclmdlRIExecuteAsync(modelRI, nullptr);
    return launched == ACL_SUCCESS ? aclrtSynchronizeStreamWithTimeout(nullptr, timeout) : launched;
}

extern "C" aclError aclmdlRISetName(aclmdlRI modelRI, const char* name) {
    return guarded(__func__, [&] {
        require_pointer("name", name);
        find_graph(modelRI)->set_name(name);
    });
}

// Writes as much of the name as there is room for, and a null character.
extern "C" aclError aclmdlRIGetName(aclmdlRI modelRI, uint32_t maxLen, char* name) {
    return guarded(__func__, [&] {
        require_pointer("name", name);
        if (maxLen == 0) refuse(ACL_ERROR_RT_PARAM_INVALID, "maxLen", "at least 1", "0");
        std::snprintf(name, maxLen, "%s", find_graph(modelRI)->name().c_str());
    });
}

// Replays that have begun keep what they need.
extern "C" aclError aclmdlRIDestroy(aclmdlRI modelRI) {
    return traced(__func__, call_arguments("modelRI", modelRI), [&] {
        find_complete_graph(modelRI);
        remove_graph(modelRI);
    });
}

extern "C" aclError aclmdlRIGetId(aclmdlRI modelRI, uint32_t* modelRIId) {
    return write_result(__func__, "modelRIId", modelRIId, [&] { return find_graph(modelRI)->id(); });
}

extern "C" aclError aclmdlRIDebugPrint(aclmdlRI modelRI) {
    return guarded(__func__, [&] { print(*find_complete_graph(modelRI)); });
}

// The flags are reserved; torch_npu passes 1.
extern "C" aclError aclmdlRIDebugJsonPrint(aclmdlRI modelRI, const char* path, uint32_t flags) {
    return guarded(__func__, [&] {
        require_pointer("path", path);
        if (flags > 1) refuse(ACL_ERROR_RT_PARAM_INVALID, "flags", "0 or 1", std::to_string(flags));
        write_json(*find_complete_graph(modelRI), path);
    });
}
