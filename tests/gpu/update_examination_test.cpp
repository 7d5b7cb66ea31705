// The cases of the study of atomics, on the host: what is right passes, and each slip is refused.
#include "gpu/update_examination.hpp"

#include <gtest/gtest.h>

#include "host_bench/right_updates.hpp"
#include "oracles/update_reference.hpp"

namespace rungs::tests {
namespace {

using bench::fakes::slip;
using catalog::op, catalog::scalar;

template <class Op, class T, slip planted = slip::none>
verdict examined(op which, scalar type, std::size_t max_addresses = std::size_t{1} << 20) {
  auto subject = bench::fakes::an_update("fake", bench::fakes::update<Op, T, planted>, which, type);
  subject.max_addresses = max_addresses;
  return examine(subject, {});
}

TEST(update_examination, passes_what_is_right) {
  int combinations = 0;
  for (const op which : bench::fakes::studied_operators)
    for (const scalar type : bench::fakes::studied_types)
      bench::with_update(which, type, [&]<class Op, class T>() {
        ++combinations;
        const verdict v = examined<Op, T>(which, type);
        EXPECT_TRUE(v.findings.empty()) << name(which) << ' ' << name(type) << ' ' << v.findings[0].case_name << ": "
                                        << v.findings[0].what;
        EXPECT_GT(v.cases, 35);
        EXPECT_TRUE(v.skipped.empty());
      });
  EXPECT_EQ(combinations, 35);
}

template <slip planted>
void is_refused(const char* in_case, const char* words) {
  const verdict v = examined<plus, unsigned, planted>(op::plus, scalar::u32);
  ASSERT_FALSE(v.findings.empty()) << words;
  bool found = false;
  for (const finding& one : v.findings)
    found = found || (one.case_name == in_case && one.what.find(words) != std::string::npos);
  EXPECT_TRUE(found) << v.findings[0].case_name << ": " << v.findings[0].what;
}

TEST(update_examination, refuses_slips) {
  is_refused<slip::last_dropped>("n=1 addresses=1", "value 0 of 1");
  is_refused<slip::one_lost>("n=31 addresses=1", "first call: value 0 of 1");
  is_refused<slip::start_kept>("n=0 addresses=1", "got 0xffffffff");
  is_refused<slip::seed_ignored>("n=1 addresses=1", "first call: value 0 of 1");
  is_refused<slip::next_address>("n=31 addresses=32", "wrong values: 2");
  is_refused<slip::one_bit>("n=0 addresses=1", "value 0 of 1");
  is_refused<slip::writes_behind>("n=1 addresses=1", "wrote outside");
  is_refused<slip::any_number_of_addresses>("no address", "not cudaErrorInvalidValue");
  is_refused<slip::workspace_unchecked>("a workspace one byte too small", "cudaSuccess");
}

TEST(update_examination, keeps_to_the_limits_of_the_record) {
  auto subject = bench::fakes::an_update("fake", bench::fakes::update<plus, unsigned>);
  std::vector<std::string> cases;
  examination how;
  how.on_case = [&](const std::string& one) { cases.push_back(one); };
  subject.max_addresses = 1;
  EXPECT_FALSE(examine(subject, how).findings.empty()) << "it takes more, and says one";
  for (const std::string& one : cases) EXPECT_FALSE(one.ends_with("addresses=2")) << one;
  cases.clear();
  subject.max_addresses = std::size_t{1} << 20;
  subject.max_operations_per_address = 31;
  EXPECT_TRUE(examine(subject, how).findings.empty());
  for (const std::string& one : cases) EXPECT_NE(one, "n=33 addresses=1");
}

}  // namespace
}  // namespace rungs::tests
