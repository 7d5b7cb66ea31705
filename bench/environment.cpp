#include "environment.hpp"

#include <dlfcn.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <thread>

namespace rungs::bench {
namespace {

// The part of NVML's interface that is used; its header is not in every toolkit. Every call answers 0 for success.
using nvml_device = struct nvmlDevice_st*;
struct nvml_process {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};
constexpr int clock_sm = 1, clock_memory = 2;

constexpr std::pair<unsigned long long, const char*> throttle_words[] = {{0x1, "idle"},
                                                                         {0x2, "application_clocks"},
                                                                         {0x4, "power_cap"},
                                                                         {0x8, "hardware_slowdown"},
                                                                         {0x10, "sync_boost"},
                                                                         {0x20, "software_thermal"},
                                                                         {0x40, "hardware_thermal"},
                                                                         {0x80, "power_brake"},
                                                                         {0x100, "display_clocks"}};

json or_null(bool known, auto value) { return known ? json(value) : json(nullptr); }

}  // namespace

struct environment::library {
  void* handle = nullptr;

  // Calls a function by name; false where it is missing or fails.
  template <class... Arguments>
  bool call(const char* function, Arguments... arguments) const {
    const auto address = reinterpret_cast<int (*)(Arguments...)>(dlsym(handle, function));
    return address != nullptr && address(arguments...) == 0;
  }

  nvml_device find(const std::string& pci_bus_id) const {
    nvml_device device = nullptr;
    call("nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id.c_str(), &device);
    return device;
  }

  // Processes with work on the GPU, or a desktop; empty where they cannot be read.
  std::optional<int> count_processes(nvml_device device) const {
    int total = 0;
    bool any = false;
    for (const char* function :
         {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v3"}) {
      std::vector<nvml_process> processes(256);
      unsigned count = 256;
      if (!call(function, device, &count, processes.data())) continue;
      any = true;
      total += static_cast<int>(count);
    }
    return any ? std::optional(total) : std::nullopt;
  }
};

environment::environment() {
  void* const handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return;
  nvml_ = new library{handle};
  if (!nvml_->call("nvmlInit_v2")) {
    delete nvml_;
    nvml_ = nullptr;
    dlclose(handle);
    return;
  }
  unsigned count = 0;
  nvml_->call("nvmlDeviceGetCount_v2", &count);
  for (unsigned i = 0; i < count; ++i) {
    nvml_device device = nullptr;
    struct {
      char bus_id_legacy[16];
      unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
      char bus_id[32];
    } pci{};
    if (!nvml_->call("nvmlDeviceGetHandleByIndex_v2", i, &device) ||
        !nvml_->call("nvmlDeviceGetPciInfo_v3", device, static_cast<void*>(&pci)))
      continue;
    if (const auto processes = nvml_->count_processes(device)) processes_at_start_.emplace_back(pci.bus_id, *processes);
  }
}

environment::~environment() {
  if (nvml_ == nullptr) return;
  nvml_->call("nvmlShutdown");
  dlclose(nvml_->handle);
  delete nvml_;
}

json environment::driver_version() const {
  char version[96] = {};
  const bool known = nvml_ != nullptr && nvml_->call("nvmlSystemGetDriverVersion", static_cast<char*>(version), 96u);
  return or_null(known, std::string(version));
}

std::optional<double> environment::joules(const device_facts& facts) const {
  const nvml_device device = nvml_ != nullptr ? nvml_->find(facts.pci_bus_id) : nullptr;
  unsigned long long millijoules = 0;
  if (device == nullptr || !nvml_->call("nvmlDeviceGetTotalEnergyConsumption", device, &millijoules))
    return std::nullopt;
  return static_cast<double>(millijoules) * 1e-3;
}

json environment::read(const device_facts& facts) const {
  json seen;
  for (const char* field : {"sm_clock_mhz", "sm_clock_max_mhz", "memory_clock_mhz", "throttle_reasons", "temperature_c",
                            "power_w", "power_limit_w", "ecc", "mig", "persistence", "other_processes"})
    seen[field] = nullptr;
  const nvml_device device = nvml_ != nullptr ? nvml_->find(facts.pci_bus_id) : nullptr;
  if (device == nullptr) return seen;
  unsigned value = 0, pending = 0;
  const auto put = [&](const char* field, bool known, auto what) { seen[field] = or_null(known, what()); };
  const auto as_is = [&] { return value; };
  const auto in_watts = [&] { return value / 1000.0; };
  const auto yes_no = [&] { return value != 0; };
  const auto ask = [&](const char* function, auto... arguments) { return nvml_->call(function, device, arguments...); };
  put("sm_clock_mhz", ask("nvmlDeviceGetClockInfo", clock_sm, &value), as_is);
  put("sm_clock_max_mhz", ask("nvmlDeviceGetMaxClockInfo", clock_sm, &value), as_is);
  put("memory_clock_mhz", ask("nvmlDeviceGetClockInfo", clock_memory, &value), as_is);
  put("temperature_c", ask("nvmlDeviceGetTemperature", 0, &value), as_is);
  put("power_w", ask("nvmlDeviceGetPowerUsage", &value), in_watts);
  put("power_limit_w", ask("nvmlDeviceGetEnforcedPowerLimit", &value), in_watts);
  put("ecc", ask("nvmlDeviceGetEccMode", &value, &pending), yes_no);
  put("mig", ask("nvmlDeviceGetMigMode", &value, &pending), yes_no);
  put("persistence", ask("nvmlDeviceGetPersistenceMode", &value), yes_no);
  unsigned long long reasons = 0;
  if (nvml_->call("nvmlDeviceGetCurrentClocksThrottleReasons", device, &reasons)) {
    seen["throttle_reasons"] = json::array();
    for (const auto& [bit, word] : throttle_words) {
      if (reasons & bit) seen["throttle_reasons"].push_back(word);
    }
  }
  // First: as it was before this program had a context. Later: without this program, where it is counted at all.
  if (first_read_) {
    for (const auto& [bus_id, count] : processes_at_start_) {
      if (nvml_->find(bus_id) == device) seen["other_processes"] = count;
    }
    first_read_ = false;
  } else if (const auto count = nvml_->count_processes(device)) {
    seen["other_processes"] = std::max(0, *count - 1);
  }
  return seen;
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name") && !line.starts_with("Model")) continue;
    const auto colon = line.find(':');
    if (colon != line.npos && colon + 2 < line.size()) return line.substr(colon + 2);
  }
  utsname system{};
  uname(&system);
  return std::string(system.machine) + " CPU";
}

json host_facts() {
  utsname system{};
  uname(&system);
  json facts;
  facts["cpu"] = cpu_name();
  facts["cores"] = std::thread::hardware_concurrency();
  facts["memory_bytes"] = static_cast<long long>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  facts["kernel"] = std::string(system.sysname) + " " + system.release;
  return facts;
}

json variables_that_matter() {
  json found = json::object();
  for (const char* variable :
       {"CUDA_VISIBLE_DEVICES", "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING", "CUDA_DEVICE_MAX_CONNECTIONS",
        "CUDA_DEVICE_ORDER", "CUDA_FORCE_PTX_JIT", "CUDA_DISABLE_PTX_JIT", "CUDA_CACHE_DISABLE",
        "CUDA_INJECTION64_PATH", "CUDA_MPS_PIPE_DIRECTORY", "NVIDIA_TF32_OVERRIDE", "OMP_NUM_THREADS",
        "TBB_NUM_THREADS"}) {
    if (const char* value = std::getenv(variable)) found[variable] = value;
  }
  return found;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H%M%SZ", &utc);
  return text;
}

std::string slug(const std::string& name) {
  std::string text, plain = name.substr(0, name.find('@'));
  for (const std::string noise : {"(R)", "(TM)", "(r)", "(tm)"}) {
    for (std::size_t at; (at = plain.find(noise)) != plain.npos;)
      std::fill_n(plain.begin() + static_cast<std::ptrdiff_t>(at), noise.size(), ' ');
  }
  for (const char c : plain) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!text.empty() && text.back() != '-')
      text += '-';
  }
  while (!text.empty() && text.back() == '-') text.pop_back();
  return text.empty() ? "unknown" : text;
}

std::vector<std::string> banners(const json& before, const json& after, const json& variables, bool release_build) {
  std::vector<std::string> all;
  const auto say = [&](std::string text) {
    if (std::ranges::count(all, text) == 0) all.push_back(std::move(text));
  };
  for (const json& seen : {before, after}) {
    if (!seen.is_object()) continue;
    for (const json& reason : seen.value("throttle_reasons", json()))
      if (reason != "idle" && reason != "application_clocks")
        say("the GPU was held back: " + reason.get<std::string>());
    if (const json others = seen.value("other_processes", json()); others.is_number() && others > 0)
      say("another process used the GPU");
    if (seen.value("mig", json()) == true) say("the GPU is partitioned (MIG)");
  }
  if (variables.value("CUDA_LAUNCH_BLOCKING", "0") != "0") say("CUDA_LAUNCH_BLOCKING was set");
  if (variables.contains("CUDA_INJECTION64_PATH")) say("a profiler or sanitizer was attached (CUDA_INJECTION64_PATH)");
  if (!release_build) say("a debug or sanitizer build: not to be published");
  return all;
}

}  // namespace rungs::bench
