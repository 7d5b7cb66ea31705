// rungs::across::communicator over an NCCL that is told what to answer, and over the real one where there is one, and
// two GPUs.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <barrier>
#include <rungs/across/communicator.cuh>
#include <thread>

#include "across/crew.cuh"
#include "on_a_gpu.hpp"

namespace {

// Ranks are threads, each with one of these for its communicator.
struct team {
  explicit team(int num_ranks) : num_ranks(num_ranks), all_here(num_ranks), told(num_ranks) {}
  int num_ranks;
  std::barrier<> all_here;
  std::vector<std::vector<unsigned char>> told;
};
struct pretended {
  pretended(team& all, int rank) : all(all), rank(rank) {}
  team& all;
  int rank;
  ncclResult_t answer = ncclSuccess;
  int num_all_reduces = 0;
  std::size_t count = 0;
  ncclDataType_t type{};
  ncclRedOp_t op{};
  operator ncclComm_t() { return reinterpret_cast<ncclComm_t>(this); }
};
pretended& of(ncclComm_t comm) { return *reinterpret_cast<pretended*>(comm); }

void* real_nccl = nullptr;  // calls go there once it is loaded
template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(real_nccl, name));
}

}  // namespace

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  if (real_nccl != nullptr) return real<decltype(ncclCommCount)>("ncclCommCount")(comm, count);
  *count = of(comm).all.num_ranks;
  return of(comm).answer;
}
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  if (real_nccl != nullptr) return real<decltype(ncclCommUserRank)>("ncclCommUserRank")(comm, rank);
  *rank = of(comm).rank;
  return ncclSuccess;
}
ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  if (real_nccl != nullptr) return real<decltype(ncclAllGather)>("ncclAllGather")(from, to, count, type, comm, stream);
  team& all = of(comm).all;
  auto& mine = all.told[of(comm).rank];
  mine.resize(count);
  cudaStreamSynchronize(stream);
  cudaMemcpy(mine.data(), from, count, cudaMemcpyDeviceToHost);
  all.all_here.arrive_and_wait();
  for (int r = 0; r < all.num_ranks; ++r)
    cudaMemcpy(static_cast<char*>(to) + r * count, all.told[r].data(), count, cudaMemcpyHostToDevice);
  all.all_here.arrive_and_wait();
  return of(comm).answer;
}
ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  if (real_nccl != nullptr)
    return real<decltype(ncclAllReduce)>("ncclAllReduce")(from, to, count, type, op, comm, stream);
  pretended& called = of(comm);
  ++called.num_all_reduces;
  called.count = count;
  called.type = type;
  called.op = op;
  return called.answer;
}

namespace rungs::tests::across {
namespace {

using rungs::across::communicator;

TEST(Communicator, MoreThanEightRanksTakeNcclAndSayWhy) {
  team nine(9);
  pretended comm(nine, 4);
  communicator communicator;
  ASSERT_EQ(communicator.create(comm, nullptr), cudaSuccess);
  EXPECT_TRUE(communicator.uses_nccl());
  EXPECT_STREQ(communicator.reason(), "there are more than eight ranks");
  EXPECT_EQ(communicator.member().num_ranks, 0);
  float* const items = nullptr;
  EXPECT_EQ(communicator.all_reduce(items, items, 7, maximum{}), cudaSuccess);
  EXPECT_EQ(comm.count, 7u);
  EXPECT_EQ(comm.type, ncclFloat32);
  EXPECT_EQ(comm.op, ncclMax);
  __nv_bfloat16* const halves = nullptr;
  EXPECT_EQ(communicator.all_reduce(halves, halves, 9, plus{}), cudaSuccess);
  EXPECT_EQ(comm.type, ncclBfloat16);
  EXPECT_EQ(comm.op, ncclSum);
  comm.answer = ncclRemoteError;
  EXPECT_EQ(communicator.all_reduce(items, items, 7, plus{}), cudaErrorUnknown);
  EXPECT_EQ(communicator.nccl_result(), ncclRemoteError);
  EXPECT_EQ(comm.num_all_reduces, 3);
}

TEST(Communicator, AFailureOfNcclIsReturned) {
  team two(2);
  pretended comm(two, 0);
  comm.answer = ncclInvalidArgument;
  communicator communicator;
  EXPECT_EQ(communicator.create(comm, nullptr), cudaErrorUnknown);
  EXPECT_EQ(communicator.nccl_result(), ncclInvalidArgument);
}

// Two threads, each with a rank on devices[rank]: made, and then used.
void expect_sums(const int (&devices)[2], const std::function<ncclComm_t(int)>& comm_of) {
  constexpr std::size_t num_items = 100'001;
  std::barrier both(2);
  const auto expected =
      answers_of(catalog::scalar::f32, catalog::op::plus, items::rounded, 2, num_items, library::seed);
  const auto run = [&](int rank) {
    cudaStream_t stream;
    check(cudaSetDevice(devices[rank]));
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    {
      const memory in(items_of(catalog::scalar::f32, items::rounded, rank, num_items, library::seed));
      const memory out(num_items * sizeof(float));
      communicator communicator;
      EXPECT_EQ(communicator.create(comm_of(rank), stream), cudaSuccess);
      EXPECT_FALSE(communicator.uses_nccl()) << communicator.reason();
      EXPECT_STREQ(communicator.reason(), "");
      both.arrive_and_wait();  // nobody waits for the device once calls begin
      EXPECT_EQ(communicator.all_reduce(reinterpret_cast<const float*>(in.get()), reinterpret_cast<float*>(out.get()),
                                        num_items, plus{}, stream),
                cudaSuccess);
      both.arrive_and_wait();
      EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
      std::vector<unsigned char> found(expected.size());
      check(cudaMemcpy(found.data(), out.get(), found.size(), cudaMemcpyDeviceToHost));
      EXPECT_TRUE(found == expected) << "rank " << rank;
      both.arrive_and_wait();
    }
    check(cudaStreamDestroy(stream));
  };
  watchdog dog(30);
  dog.watch_over(pulse);
  pulse.begins("two ranks of a communicator");
  std::thread other(run, 1);
  run(0);
  other.join();
  pulse.rests();
}

TEST(Communicator, RanksOfOneProcessMeetInWindows) {
  if (!has_gpu()) GTEST_SKIP() << "no usable GPU";
  team two(2);
  pretended comms[] = {{two, 0}, {two, 1}};
  expect_sums({0, 0}, [&](int rank) -> ncclComm_t { return comms[rank]; });
  EXPECT_EQ(comms[0].num_all_reduces + comms[1].num_all_reduces, 0);
}

TEST(Communicator, RanksOfTheRealNccl) {
  int num_devices = 0;
  if (!has_gpu() || cudaGetDeviceCount(&num_devices) != cudaSuccess || num_devices < 2) GTEST_SKIP() << "no two GPUs";
  void* const loaded = dlopen("libnccl.so.2", RTLD_NOW);
  if (loaded == nullptr) GTEST_SKIP() << "no libnccl.so.2";
  real_nccl = loaded;
  ncclComm_t comms[2];
  const int devices[] = {0, 1};
  ASSERT_EQ(real<decltype(ncclCommInitAll)>("ncclCommInitAll")(comms, 2, devices), ncclSuccess);
  expect_sums(devices, [&](int rank) { return comms[rank]; });
  for (const ncclComm_t comm : comms) EXPECT_EQ(real<decltype(ncclCommDestroy)>("ncclCommDestroy")(comm), ncclSuccess);
  real_nccl = nullptr;
}

}  // namespace
}  // namespace rungs::tests::across

int main(int argc, char** argv) {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  setenv("NCCL_NVLS_ENABLE", "0", 0);  // multicast is not what is tested
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
