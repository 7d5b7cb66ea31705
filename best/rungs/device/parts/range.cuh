// NVTX ranges around calls, so that a profiler's timeline names them. With -DRUNGS_NVTX each call of the front door
// that launches kernels stands in a range of the domain "rungs" with the name of its struct, such as
// rungs::DeviceReduce. Without it nothing is included and nothing happens. NVTX comes with the toolkit, as headers
// alone.
#pragma once

#include "rungs/version.cuh"
#ifdef RUNGS_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

namespace rungs::RUNGS_ABI::device {

#ifdef RUNGS_NVTX
class range {
 public:
  // A null name opens none.
  explicit range(const char* name) : is_open_(name != nullptr) {
    if (!is_open_) return;
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    nvtxDomainRangePushEx(domain(), &attributes);
  }
  ~range() {
    if (is_open_) nvtxDomainRangePop(domain());
  }
  range(const range&) = delete;
  range& operator=(const range&) = delete;

 private:
  static nvtxDomainHandle_t domain() {
    static const nvtxDomainHandle_t rungs = nvtxDomainCreateA("rungs");
    return rungs;
  }

  bool is_open_;
};
#else
struct range {
  explicit constexpr range(const char*) {}
};
#endif

}  // namespace rungs::RUNGS_ABI::device
