#include "gpu/entries.hpp"

#include "catalog.hpp"
#include "gpu/checkers.hpp"
#include "gpu/library_faults.hpp"
#include "text.hpp"
#include "wrong/wrong.hpp"

namespace rungs::tests {
namespace {

// The other records of the same variant.
std::vector<const catalog::record*> peers_of(const catalog::record& r) {
  std::vector<const catalog::record*> peers;
  for (const catalog::record& other : catalog::all())
    if (&other != &r && other.source == r.source && other.rung == r.rung && other.ladder == r.ladder)
      peers.push_back(&other);
  return peers;
}

// The very cases that guard the catalog must refuse a planted bug, and pass it where the bug does not show.
verdict refuses(const wrong::exhibit& exhibit, const examination& how) {
  verdict all;
  const auto examined = [&](const char* only) {
    examination part = how;
    part.only_case = only;
    verdict v = examine(exhibit.what, part);
    all.cases += v.cases;
    all.device_lost |= v.device_lost;
    if (!v.skipped.empty()) all.skipped = v.skipped;
    return v;
  };
  const verdict passing = examined(exhibit.passes);
  if (!all.skipped.empty()) return all;
  if (passing.cases == 0) all.findings.push_back({exhibit.passes, "there is no such case"});
  for (const finding& f : passing.findings) all.findings.push_back({f.case_name, text("meant to pass, but: ", f.what)});
  if (*exhibit.refused_by == '\0' || all.device_lost) return all;
  const verdict refusing = examined(exhibit.refused_by);
  if (refusing.cases == 0)
    all.findings.push_back({exhibit.refused_by, "there is no such case"});
  else if (refusing.findings.empty())
    all.findings.push_back({exhibit.refused_by, "the planted bug survived"});
  else
    all.notes.push_back(text("refused by ", refusing.findings[0].case_name, ": ", refusing.findings[0].what));
  return all;
}

}  // namespace

std::vector<entry> all_entries(const std::function<bool(const std::string&)>& wanted) {
  std::vector<entry> entries;
  for (const checker_test& test : checker_tests())
    entries.push_back({"checker", test.name, [test](const examination& how) { return run(test, device_site(), how); }});
  for (const catalog::record& r : catalog::all())
    if (wanted(full_name(r)))
      entries.push_back({"catalog", full_name(r), [&r](const examination& how) {
                           examination with_peers = how;
                           with_peers.peers = peers_of(r);
                           return examine(r, with_peers);
                         }});
  for (const library_fault& fault : library_faults())
    for (const catalog::record& r : catalog::all())
      if (fault.concerns(r) && wanted(full_name(r)))
        entries.push_back({"library_fault", text(fault.name, '/', full_name(r)),
                           [&r, &fault](const examination& how) { return examine(r, fault, how); }});
  for (const wrong::exhibit& e : wrong::all())
    entries.push_back({"wrong", std::string(e.what.rung), [&e](const examination& how) { return refuses(e, how); }});
  return entries;
}

}  // namespace rungs::tests
