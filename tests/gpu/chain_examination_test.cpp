// The cases of the studies of costs, on the host: what is right passes, and each slip is refused.
#include "gpu/chain_examination.hpp"

#include <gtest/gtest.h>

#include "host_bench/right_chains.hpp"

namespace rungs::tests {
namespace {

using bench::fakes::a_chain, bench::fakes::chain_slip;
using catalog::op, catalog::operation, catalog::scalar;

void passes(const catalog::record& subject, int least_cases) {
  const verdict v = examine(subject, {});
  EXPECT_TRUE(v.findings.empty()) << v.findings[0].case_name << ": " << v.findings[0].what;
  EXPECT_GE(v.cases, least_cases);
  EXPECT_TRUE(v.skipped.empty());
}

TEST(chain_examination, passes_what_is_right) {
  passes(a_chain<operation::collective_reduce, op::plus, scalar::i32>("right"), 21);
  passes(a_chain<operation::collective_reduce, op::maximum, scalar::f32>("right"), 21);
  passes(a_chain<operation::collective_scan, op::plus, scalar::f32>("right"), 21);
  passes(a_chain<operation::collective_scan, op::maximum, scalar::i32>("right"), 21);
  passes(a_chain<operation::barrier>("right"), 60);
}

void is_refused(const catalog::record& subject, const char* in_case, const char* words) {
  const verdict v = examine(subject, {});
  ASSERT_FALSE(v.findings.empty()) << words;
  bool found = false;
  for (const finding& one : v.findings)
    found = found || (one.case_name == in_case && one.what.find(words) != std::string::npos);
  EXPECT_TRUE(found) << v.findings[0].case_name << ": " << v.findings[0].what;
}

template <chain_slip planted>
auto reduces() {
  return a_chain<operation::collective_reduce, op::maximum, scalar::f32, planted>("wrong");
}
template <chain_slip planted>
auto waits() {
  return a_chain<operation::barrier, op::none, scalar::u32, planted>("wrong");
}

TEST(chain_examination, refuses_slips) {
  is_refused(reduces<chain_slip::last_link_dropped>(), "n=1 blocks=1 threads=16", "word 0 of 1");
  is_refused(waits<chain_slip::last_link_dropped>(), "n=1 blocks=1 threads=16", "wrong words: 16");
  is_refused(reduces<chain_slip::one_link_more>(), "n=0 blocks=1 threads=16", "word 0 of 1");
  is_refused(waits<chain_slip::seed_ignored>(), "n=0 blocks=1 threads=16", "first call");
  is_refused(reduces<chain_slip::lane_left_out>(), "n=1000 blocks=1 threads=32", "first call");
  is_refused(waits<chain_slip::one_never_waits>(), "n=33 blocks=1 threads=32", "wrong words: 1");
  is_refused(waits<chain_slip::writes_behind>(), "n=0 blocks=1 threads=16", "wrote outside");
  is_refused(reduces<chain_slip::any_group>(), "nobody", "not cudaErrorInvalidValue");
  is_refused(waits<chain_slip::any_group>(), "too many", "not cudaErrorInvalidValue");
  is_refused(waits<chain_slip::workspace_unchecked>(), "a workspace one byte too small", "cudaSuccess");
}

TEST(chain_examination, keeps_to_what_the_record_takes) {
  auto subject = a_chain<operation::barrier>("right");
  subject.takes_group = [](std::size_t blocks, std::size_t threads) { return blocks == 1 && threads == 32; };
  std::vector<std::string> cases;
  examination how;
  how.on_case = [&](const std::string& one) { cases.push_back(one); };
  EXPECT_TRUE(examine(subject, how).findings.empty());
  for (const std::string& one : cases)
    EXPECT_TRUE(!one.starts_with("n=") || one.ends_with(" blocks=1 threads=32")) << one;
  subject.takes_group = [](std::size_t, std::size_t) { return false; };
  EXPECT_FALSE(examine(subject, {}).findings.empty());
}

}  // namespace
}  // namespace rungs::tests
