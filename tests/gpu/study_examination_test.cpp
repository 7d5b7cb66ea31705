// The cases of the studies, on the host: what is right passes, and each slip is refused.
#include <gtest/gtest.h>

#include "gpu/examination.hpp"
#include "host_bench/right_chains.hpp"
#include "host_bench/right_updates.hpp"

namespace rungs::tests {
namespace {

using namespace bench::fakes;
using catalog::op, catalog::operation, catalog::scalar;

void passes(const catalog::record& subject, int least_cases) {
  const verdict v = examine(subject, {});
  EXPECT_TRUE(v.findings.empty()) << name(subject.op) << ' ' << name(subject.output_type) << ' '
                                  << v.findings[0].case_name << ": " << v.findings[0].what;
  EXPECT_GE(v.cases, least_cases);
  EXPECT_TRUE(v.skipped.empty());
}

TEST(study_examination, passes_what_is_right) {
  passes(a_chain<operation::collective_reduce, op::plus, scalar::i32>("right"), 21);
  passes(a_chain<operation::collective_reduce, op::maximum, scalar::f32>("right"), 21);
  passes(a_chain<operation::collective_scan, op::plus, scalar::f32>("right"), 21);
  passes(a_chain<operation::collective_scan, op::maximum, scalar::i32>("right"), 21);
  passes(a_chain<operation::barrier>("right"), 60);
  int combinations = 0;
  for (const op which : studied_operators)
    for (const scalar type : studied_types)
      with_update(which, type, [&]<class Op, class T>() {
        ++combinations;
        auto subject = an_update("right", update<Op, T>, which, type);
        subject.max_addresses = std::size_t{1} << 20;
        passes(subject, 36);
      });
  EXPECT_EQ(combinations, 35);
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
template <slip planted>
auto updates() {
  auto subject = an_update("wrong", update<plus, unsigned, planted>);
  subject.max_addresses = std::size_t{1} << 20;
  return subject;
}

TEST(study_examination, refuses_slips) {
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

  is_refused(updates<slip::last_dropped>(), "n=1 addresses=1", "address 0 of 1");
  is_refused(updates<slip::one_lost>(), "n=31 addresses=1", "first call: address 0 of 1");
  is_refused(updates<slip::start_kept>(), "n=0 addresses=1", "got 0xffffffff");
  is_refused(updates<slip::seed_ignored>(), "n=1 addresses=1", "first call: address 0 of 1");
  is_refused(updates<slip::next_address>(), "n=31 addresses=32", "wrong addresses: 2");
  is_refused(updates<slip::one_bit>(), "n=0 addresses=1", "address 0 of 1");
  is_refused(updates<slip::writes_behind>(), "n=1 addresses=1", "wrote outside");
  is_refused(updates<slip::any_number_of_addresses>(), "no address", "not cudaErrorInvalidValue");
  is_refused(updates<slip::workspace_unchecked>(), "a workspace one byte too small", "cudaSuccess");
}

TEST(study_examination, keeps_to_what_the_record_takes) {
  std::vector<std::string> cases;
  examination how;
  how.on_case = [&](const std::string& one) { cases.push_back(one); };
  auto chain = a_chain<operation::barrier>("right");
  chain.takes_group = [](std::size_t blocks, std::size_t threads) { return blocks == 1 && threads == 32; };
  EXPECT_TRUE(examine(chain, how).findings.empty());
  for (const std::string& one : cases)
    EXPECT_TRUE(!one.starts_with("n=") || one.ends_with(" blocks=1 threads=32")) << one;
  chain.takes_group = [](std::size_t, std::size_t) { return false; };
  EXPECT_FALSE(examine(chain, {}).findings.empty());

  auto updates = an_update("right", update<plus, unsigned>);
  updates.max_addresses = 1;
  cases.clear();
  EXPECT_FALSE(examine(updates, how).findings.empty()) << "it takes more, and says one";
  for (const std::string& one : cases) EXPECT_FALSE(one.ends_with("addresses=2")) << one;
  updates.max_addresses = std::size_t{1} << 20;
  updates.max_operations_per_address = 31;
  cases.clear();
  EXPECT_TRUE(examine(updates, how).findings.empty());
  for (const std::string& one : cases) EXPECT_NE(one, "n=33 addresses=1");
}

}  // namespace
}  // namespace rungs::tests
