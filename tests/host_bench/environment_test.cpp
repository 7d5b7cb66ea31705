#include "environment.hpp"

#include <gtest/gtest.h>

#include "progress.hpp"

namespace rungs::bench {
namespace {

TEST(Slug, IsLowerCaseWithHyphens) {
  EXPECT_EQ(slug("NVIDIA H200"), "nvidia-h200");
  EXPECT_EQ(slug("NVIDIA H100 80GB HBM3"), "nvidia-h100-80gb-hbm3");
  EXPECT_EQ(slug("Intel(R) Xeon(R) Gold 6230 CPU @ 2.10GHz"), "intel-xeon-gold-6230-cpu");
  EXPECT_EQ(slug("../../etc"), "etc");
  EXPECT_EQ(slug(""), "unknown");
}

json in_good_order() { return {{"throttle_reasons", {"idle"}}, {"other_processes", 0}, {"mig", false}}; }

TEST(Banners, AreEmptyInGoodOrderAndForWhatIsUnknown) {
  EXPECT_TRUE(banners(in_good_order(), in_good_order(), json::object(), true).empty());
  EXPECT_TRUE(banners(nullptr, nullptr, json::object(), true).empty());
  EXPECT_TRUE(banners({{"throttle_reasons", nullptr}, {"other_processes", nullptr}, {"mig", nullptr}}, nullptr,
                      json::object(), true)
                  .empty());
}

TEST(Banners, SayEachThingOnce) {
  json busy = in_good_order();
  busy["throttle_reasons"] = {"power_cap", "idle"};
  busy["other_processes"] = 2;
  busy["mig"] = true;
  EXPECT_EQ(banners(busy, busy, json::object(), true).size(), 3u);
  EXPECT_EQ(
      banners(in_good_order(), busy, {{"CUDA_LAUNCH_BLOCKING", "1"}, {"CUDA_INJECTION64_PATH", "x"}}, false).size(),
      6u);
  EXPECT_TRUE(banners(nullptr, nullptr, {{"CUDA_LAUNCH_BLOCKING", "0"}}, true).empty());
}

TEST(Energy, IsUnknownOfAGpuThatIsNotThere) {
  device_facts nowhere;
  nowhere.pci_bus_id = "ffff:ff:1f.0";
  EXPECT_EQ(environment().joules(nowhere), std::nullopt);
}

TEST(Host, IsDescribed) {
  const auto facts = host_facts();
  EXPECT_FALSE(facts["cpu"].get<std::string>().empty());
  EXPECT_GT(facts["cores"].get<int>(), 0);
  EXPECT_GT(facts["memory_bytes"].get<long long>(), 0);
}

TEST(Durations, AreReadable) {
  EXPECT_EQ(format_duration(3.2), "3 s");
  EXPECT_EQ(format_duration(125), "2 min 5 s");
  EXPECT_EQ(format_duration(-1), "0 s");
}

}  // namespace
}  // namespace rungs::bench
