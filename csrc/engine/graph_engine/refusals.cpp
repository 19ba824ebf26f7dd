// CANN's graph engine (GE) as far as torchair links it: without these symbols "import torchair" fails. The engine has no compiler of
// graphs, so each of them throws, which torchair hands on to Python. The list is that of `nm -D --undefined-only` of torchair's extension
// modules in torch_npu 2.7 to 2.14, on both processors. Nothing is known of the classes but these names, and no object of one can come to
// be.

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

#include "engine/runtime/visibility.h"

namespace torch_aclnn::host {

[[noreturn]] static void refuse_graph_engine(const char* symbol) {
    const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(symbol, nullptr, nullptr, nullptr), std::free);
    throw std::runtime_error(std::string(name ? name.get() : symbol) +
                             ": the torch_aclnn host engine has no graph engine (GE); use torch.compile with backend=\"aot_eager\", or "
                             "captured graphs: backend=\"npugraph_ex\", or a torchair.CompilerConfig whose mode is \"reduce-overhead\"");
}
}  // namespace torch_aclnn::host

// The identifier is the symbol: the parameters and the result of the function do not matter to one that throws.
#define REFUSE(symbol)                                           \
    extern "C" [[noreturn]] TORCH_ACLNN_HOST_API void symbol() { \
        torch_aclnn::host::refuse_graph_engine(#symbol);         \
    }

REFUSE(_ZN2ge10GEFinalizeEv)
REFUSE(_ZN2ge10TensorDesc11SetDataTypeENS_8DataTypeE)
REFUSE(_ZN2ge10TensorDesc12SetPlacementENS_9PlacementE)
REFUSE(_ZN2ge10TensorDesc14SetOriginShapeERKNS_5ShapeE)
REFUSE(_ZN2ge10TensorDesc15SetOriginFormatENS_6FormatE)
REFUSE(_ZN2ge10TensorDesc9SetFormatENS_6FormatE)
REFUSE(_ZN2ge10TensorDescC1Ev)
REFUSE(_ZN2ge12AscendStringC1EPKc)
REFUSE(_ZN2ge12GEInitializeERKSt3mapINS_12AscendStringES1_St4lessIS1_ESaISt4pairIKS1_S1_EEE)
REFUSE(_ZN2ge13GEGetErrorMsgEv)
REFUSE(_ZN2ge13GetFormatNameENS_6FormatE)
REFUSE(_ZN2ge15OperatorFactory14CreateOperatorEPKcS2_)
REFUSE(_ZN2ge15OperatorFactory9IsExistOpEPKc)
REFUSE(_ZN2ge17GEGetWarningMsgV2Ev)
REFUSE(_ZN2ge5Graph28LoadFromSerializedModelArrayEPKvm)
REFUSE(_ZN2ge5Graph8CopyFromERKS0_)
REFUSE(_ZN2ge5GraphC1EPKc)
REFUSE(_ZN2ge5ShapeC1ERKSt6vectorIlSaIlEE)
REFUSE(_ZN2ge6Tensor11SetDataTypeERKNS_8DataTypeE)
REFUSE(_ZN2ge6Tensor11SetShapeDimEml)
REFUSE(_ZN2ge6Tensor12SetPlacementERKNS_9PlacementE)
REFUSE(_ZN2ge6Tensor13SetTensorDescERKNS_10TensorDescE)
REFUSE(_ZN2ge6Tensor14SetShapeDimNumEm)
REFUSE(_ZN2ge6Tensor17SetOriginShapeDimEml)
REFUSE(_ZN2ge6Tensor20SetOriginShapeDimNumEm)
REFUSE(_ZN2ge6Tensor7GetDataEv)
REFUSE(_ZN2ge6Tensor7SetDataEPhmRKSt8functionIFvS1_EE)
REFUSE(_ZN2ge6Tensor9ResetDataEPhmRKSt8functionIFvS1_EE)
REFUSE(_ZN2ge6Tensor9ResetDataEv)
REFUSE(_ZN2ge6Tensor9SetFormatERKNS_6FormatE)
REFUSE(_ZN2ge6TensorC1Ev)
REFUSE(_ZN2ge7Session11RemoveGraphEj)
REFUSE(_ZN2ge7Session12CompileGraphEj)
REFUSE(_ZN2ge7Session23GetCompiledGraphSummaryEj)
REFUSE(_ZN2ge7Session23RunGraphWithStreamAsyncEjPvRKSt6vectorINS_6TensorESaIS3_EERS5_)
REFUSE(_ZN2ge7Session23SetGraphConstMemoryBaseEjPKvm)
REFUSE(_ZN2ge7Session28UpdateGraphFeatureMemoryBaseEjPKvm)
REFUSE(_ZN2ge7Session30SetGraphFixedFeatureMemoryBaseEjPKvm)
REFUSE(_ZN2ge7Session39UpdateGraphRefreshableFeatureMemoryBaseEjPKvm)
REFUSE(_ZN2ge7Session8AddGraphEjRKNS_5GraphERKSt3mapINS_12AscendStringES5_St4lessIS5_ESaISt4pairIKS5_S5_EEE)
REFUSE(_ZN2ge7Session8RunGraphEjRKSt6vectorINS_6TensorESaIS2_EERS4_)
REFUSE(_ZN2ge7SessionC1ERKSt3mapINS_12AscendStringES2_St4lessIS2_ESaISt4pairIKS2_S2_EEE)
REFUSE(_ZN2ge7SessionD1Ev)
REFUSE(_ZN2ge8Operator15UpdateInputDescEPKcRKNS_10TensorDescE)
REFUSE(_ZNK2ge10TensorDesc11GetDataTypeEv)
REFUSE(_ZNK2ge10TensorDesc12GetPlacementEv)
REFUSE(_ZNK2ge10TensorDesc8GetShapeEv)
REFUSE(_ZNK2ge10TensorDesc9GetFormatEv)
REFUSE(_ZNK2ge12AscendString9GetStringEv)
REFUSE(_ZNK2ge12AscendStringeqERKS0_)
REFUSE(_ZNK2ge12AscendStringltERKS0_)
REFUSE(_ZNK2ge20CompiledGraphSummary15GetOutputDtypesERSt6vectorINS_8DataTypeESaIS2_EE)
REFUSE(_ZNK2ge20CompiledGraphSummary15GetOutputShapesERSt6vectorINS_5ShapeESaIS2_EE)
REFUSE(_ZNK2ge20CompiledGraphSummary18GetConstMemorySizeERm)
REFUSE(_ZNK2ge20CompiledGraphSummary20GetFeatureMemorySizeERm)
REFUSE(_ZNK2ge20CompiledGraphSummary25GetFixedFeatureMemorySizeERm)
REFUSE(_ZNK2ge20CompiledGraphSummary31GetFeatureMemoryBaseRefreshableERb)
REFUSE(_ZNK2ge20CompiledGraphSummary8IsStaticEv)
REFUSE(_ZNK2ge5GNode7GetTypeERNS_12AscendStringE)
REFUSE(_ZNK2ge5Graph10SaveToFileEPKc)
REFUSE(_ZNK2ge5Graph11GetAllNodesEv)
REFUSE(_ZNK2ge5Shape7GetDimsEv)
REFUSE(_ZNK2ge6Tensor11GetDataTypeEv)
REFUSE(_ZNK2ge6Tensor11GetShapeDimEm)
REFUSE(_ZNK2ge6Tensor12GetPlacementEv)
REFUSE(_ZNK2ge6Tensor13GetTensorDescEv)
REFUSE(_ZNK2ge6Tensor14GetShapeDimNumEv)
REFUSE(_ZNK2ge6Tensor20GetOriginShapeDimNumEv)
REFUSE(_ZNK2ge6Tensor7GetDataEv)
REFUSE(_ZNK2ge6Tensor9GetFormatEv)
REFUSE(_ZNK2ge7Session25RegisterExternalAllocatorEPKvSt10shared_ptrINS_9AllocatorEE)
REFUSE(_ZNK2ge8Operator25GetAllIrAttrNamesAndTypesERSt3mapINS_12AscendStringES2_St4lessIS2_ESaISt4pairIKS2_S2_EEE)
