// NVRTC compiles the collectives, without a standard library. Behind nvcc on a GPU, they give the same results.
#include <gtest/gtest.h>
#include <nvrtc.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "collectives/jit_kernel.cuh"
#include "front_door/stage.cuh"
#include "on_a_gpu.hpp"

namespace rungs::tests {
namespace {

struct compiled {
  nvrtcResult result;
  std::string log;
  std::vector<char> code;
};

compiled compile(const std::string& architecture) {
  std::ifstream file(RUNGS_SOURCE_DIR "/tests/collectives/jit_kernel.cuh");
  std::stringstream text;
  text << file.rdbuf();
  const std::string root = RUNGS_SOURCE_DIR, arch = "-arch=" + architecture;
  const std::vector<std::string> options{arch,
                                         "-std=c++17",
                                         "-default-device",
                                         "-I" + root + "/best",
                                         "-I" + root + "/handwritten",
                                         "-I" + root + "/cluster",
                                         "-I" + root + "/best/rungs/nvrtc",
                                         "-I" RUNGS_CCCL_DIR};
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());
  nvrtcProgram program;
  compiled answer{};
  answer.result = nvrtcCreateProgram(&program, text.str().c_str(), "jit_kernel.cu", 0, nullptr, nullptr);
  if (answer.result != NVRTC_SUCCESS) return answer;
  answer.result = nvrtcCompileProgram(program, static_cast<int>(pointers.size()), pointers.data());
  std::size_t size = 0;
  nvrtcGetProgramLogSize(program, &size);
  answer.log.resize(size);
  nvrtcGetProgramLog(program, answer.log.data());
  if (answer.result == NVRTC_SUCCESS) {
    answer.result = nvrtcGetCUBINSize(program, &size);
    answer.code.resize(size);
    if (answer.result == NVRTC_SUCCESS) answer.result = nvrtcGetCUBIN(program, answer.code.data());
  }
  nvrtcDestroyProgram(&program);
  return answer;
}

TEST(Jit, Compiles) {
  for (const char* architecture : {"sm_75", "sm_90"}) {
    const compiled answer = compile(architecture);
    EXPECT_EQ(answer.result, NVRTC_SUCCESS) << architecture << ": " << answer.log;
    EXPECT_GT(answer.code.size(), 1000u) << architecture;
  }
}

TEST(Jit, GivesTheSameResults) {
  if (!has_gpu()) GTEST_SKIP() << "no usable GPU";
  cudaDeviceProp device{};
  ASSERT_EQ(cudaGetDeviceProperties(&device, 0), cudaSuccess);
  const compiled answer = compile("sm_" + std::to_string(device.major * 10 + device.minor));
  ASSERT_EQ(answer.result, NVRTC_SUCCESS) << answer.log;
  cudaLibrary_t library{};
  cudaKernel_t kernel{};
  ASSERT_EQ(cudaLibraryLoadData(&library, answer.code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), cudaSuccess);
  ASSERT_EQ(cudaLibraryGetKernel(&kernel, library, "every_collective"), cudaSuccess);

  const device_array<int> in(items<int>(jit_threads * jit_items));
  const device_array<int> by_nvcc(std::size_t{jit_threads} * jit_slots), by_nvrtc(std::size_t{jit_threads} * jit_slots);
  every_collective<<<1, jit_threads>>>(in.read(), by_nvcc.get());
  ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  const int* d_in = in.read();
  int* d_out = by_nvrtc.get();
  void* arguments[] = {&d_in, &d_out};
  ASSERT_EQ(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(jit_threads), arguments, 0, nullptr),
            cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const std::vector<unsigned char> untouched(by_nvcc.bytes().size(), 0xa5);
  EXPECT_NE(by_nvcc.bytes(), untouched);
  EXPECT_EQ(by_nvcc.bytes(), by_nvrtc.bytes());
  EXPECT_EQ(cudaLibraryUnload(library), cudaSuccess);
}

}  // namespace
}  // namespace rungs::tests
