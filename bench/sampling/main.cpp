// rungs_sampling: how long it takes to draw a token of rows of logits, to verify drafted tokens, and to merge attention
// over parts of a sequence, beside what one writes with CUB's sorts, scans and reductions, a plain read and an empty
// kernel. Cold, as rungs_bench takes it, all ways of a shape together. Uniform numbers are given, so that the host
// knows each token; a way that draws another one has no time.
//
//   rungs_sampling [FILE [FILTER]]      JSON to FILE, or to standard output
#include "sampling/ways.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "inference/study.hpp"
#include "sampling/draws.hpp"  // the tests': draws and verification on the host
#include "sampling/verification_oracle.hpp"

namespace rungs::bench {
namespace {

constexpr std::size_t num_tokens = 128512;
constexpr sampling_shape shapes[] = {{draw::top_p, 1, num_tokens, false, false, logits::flat, 0.9f, 0},
                                     {draw::top_p, 1, num_tokens, false, false, logits::peaked, 0.9f, 0},
                                     {draw::top_p, 8, num_tokens, false, false, logits::flat, 0.9f, 0},
                                     {draw::top_p, 8, num_tokens, false, false, logits::peaked, 0.9f, 0},
                                     {draw::top_p, 64, num_tokens, false, false, logits::flat, 0.9f, 0},
                                     {draw::top_p, 64, num_tokens, false, false, logits::peaked, 0.9f, 0},
                                     {draw::top_p, 1, num_tokens, true, false, logits::flat, 0.9f, 0},
                                     {draw::top_p, 8, num_tokens, true, false, logits::flat, 0.9f, 0},
                                     {draw::top_p, 64, num_tokens, true, false, logits::flat, 0.9f, 0},
                                     {draw::top_p, 256, num_tokens, true, false, logits::flat, 0.9f, 0},
                                     {draw::top_p, 256, num_tokens, true, false, logits::peaked, 0.9f, 0},
                                     {draw::top_p, 256, num_tokens, false, true, logits::of_gumbel, 0.1f, 0},
                                     {draw::top_p, 256, num_tokens, false, true, logits::of_gumbel, 0.5f, 0},
                                     {draw::top_p, 256, num_tokens, false, true, logits::of_gumbel, 0.9f, 0},
                                     {draw::top_k, 1, num_tokens, false, true, logits::flat, 1, 10},
                                     {draw::top_k, 1, num_tokens, false, true, logits::flat, 1, 100},
                                     {draw::top_k, 1, num_tokens, false, true, logits::flat, 1, 1000},
                                     {draw::top_k, 1, num_tokens, false, true, logits::flat, 1, 5000},
                                     {draw::all_tokens, 1, num_tokens, false, false, logits::flat, 1, 0},
                                     {draw::all_tokens, 64, num_tokens, false, false, logits::flat, 1, 0},
                                     {draw::all_tokens, 256, num_tokens, true, false, logits::flat, 1, 0},
                                     {draw::gumbel, 1, num_tokens, false, false, logits::flat, 1, 0},
                                     {draw::gumbel, 64, num_tokens, false, false, logits::flat, 1, 0},
                                     {draw::gumbel, 256, num_tokens, true, false, logits::flat, 1, 0}};
constexpr verification_shape verifications[] = {
    {1, 4, num_tokens}, {64, 1, num_tokens}, {64, 4, num_tokens}, {64, 8, num_tokens}, {256, 4, num_tokens}};
constexpr double share_of_floats = 1e-4;  // how far sums of floats may be from the exact ones, as a share of all

std::uint64_t scattered(std::size_t index) {
  std::uint64_t bits = (index + 1) * 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 32)) * 0xd6e8feb86659fd93;
  return bits ^ (bits >> 32);
}
// From (0, 1): an odd number of 24 bits.
float uniform(std::size_t index) { return static_cast<float>(scattered(index) >> 40 | 1) * 0x1p-24f; }

float logit_of(logits how, std::size_t i) {
  const double u = uniform(2 * i), v = uniform(2 * i + 1);
  if (how == logits::of_gumbel) return static_cast<float>(-0.1 * std::log(-std::log(u)));
  const double normal = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  return static_cast<float>((how == logits::flat ? 1 : 5) * normal);
}

void become_shares(std::span<float> row) {
  double sum = 0;
  for (const float logit : row) sum += std::exp(static_cast<double>(logit));
  for (float& each : row) each = static_cast<float>(std::exp(static_cast<double>(each)) / sum);
}

// Whether u lies where the item at a place is drawn, from `before` to `behind` of the sum of all weights.
bool is_near(double before, double behind, double all, double u) {
  return before <= (u + share_of_floats) * all && behind >= (u - share_of_floats) * all;
}

class samples {
 public:
  explicit samples(const sampling_shape& shape)
      : shape_(shape), rows_(shape.num_rows, std::vector<float>(shape.num_columns)), uniforms_(shape.num_rows) {
    inference::in_parallel(shape.num_rows, [this](std::size_t first, std::size_t last) {
      for (std::size_t row = first; row < last; ++row) {
        uniforms_[row] = uniform(~row);
        for (std::size_t i = 0; i < rows_[row].size(); ++i) {
          rows_[row][i] = logit_of(shape_.logits, row * shape_.num_columns + i);
          if (shape_.halves)  // cut after 16 bits
            rows_[row][i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(rows_[row][i]) & 0xffff0000);
        }
        if (shape_.probabilities) become_shares(rows_[row]);
      }
    });
  }

  const std::vector<float>& uniforms() const { return uniforms_; }
  template <class Item, class From>
  std::vector<Item> items(const From& from) const {
    std::vector<Item> all;
    for (const auto& row : rows_)
      for (const float each : row) all.push_back(from(each));
    return all;
  }

  // Of ours the token is exact. With sums of floats it may be one near to it.
  std::string defect(const void* d_tokens, bool exact) const {
    const auto tokens = inference::on_host<int>(d_tokens, shape_.num_rows);
    return inference::wrong_row(shape_.num_rows, [&](std::size_t row) {
      tests::sampling_rules rules;
      rules.top_k = shape_.top_k;
      rules.top_p = shape_.top_p;
      rules.from_probabilities = shape_.probabilities;
      const tests::host_row right(rows_[row], rules);
      if (shape_.draw == draw::gumbel)
        return tokens[row] == tests::gumbel_draw(right, static_cast<unsigned>(row), sampling_seed, 0);
      if (exact) return tokens[row] == right.draw(tests::host_row::fraction_of(uniforms_[row]));
      double before = 0;
      for (std::size_t i = 0; i < right.order.size(); ++i) {
        const int token = right.order[i];
        const double behind = before + right.weights[static_cast<std::size_t>(token)];
        if (token == tokens[row]) return is_near(before, behind, static_cast<double>(right.kept_sum), uniforms_[row]);
        before = behind;
      }
      return false;
    });
  }

 private:
  sampling_shape shape_;
  std::vector<std::vector<float>> rows_;
  std::vector<float> uniforms_;
};

inference::cell cell_of(const sampling_shape& shape) {
  constexpr const char* works[] = {"sample_top_p", "sample_top_k", "sample", "sample_gumbel"};
  constexpr const char* data[] = {"normal, deviation 1", "normal, deviation 5", "Gumbel, scale 0.1"};
  inference::cell cell;
  cell.work = works[static_cast<int>(shape.draw)];
  cell.input = shape.halves ? "bf16" : "f32";
  cell.rows = shape.num_rows;
  cell.columns = shape.num_columns;
  if (shape.draw == draw::top_p) cell.parameter = "p 0." + std::to_string(std::lround(shape.top_p * 10));
  if (shape.draw == draw::top_k) cell.parameter = "k " + std::to_string(shape.top_k);
  cell.data = std::string(shape.probabilities ? "probabilities of " : "") + data[static_cast<int>(shape.logits)];
  cell.read_bytes = shape.num_rows * shape.num_columns * (shape.halves ? 2 : 4);
  cell.written_bytes = shape.num_rows * sizeof(int);
  return cell;
}

void measure_sampling(inference::study& all, const sampling_shape& shape) {
  inference::cell cell = cell_of(shape);
  if (!all.wants(cell)) return;
  const samples drawn(shape);
  const device_memory in = shape.halves ? inference::on_device(drawn.items<std::uint16_t>([](float value) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
  }))
                                        : inference::on_device(drawn.items<float>([](float value) { return value; }));
  const device_memory uniforms = inference::on_device(drawn.uniforms()), out(cell.written_bytes),
                      columns(shape.num_rows * shape.num_columns * sizeof(int));
  check(inference::fill_columns(static_cast<int*>(columns.get()), shape.num_rows, shape.num_columns));
  check(cudaDeviceSynchronize());
  cell.roof_in = in.get();
  cell.d_out = out.get();
  cell.out_bytes = cell.written_bytes;
  for (const inference::named_call& by : ways_to_sample(shape)) {
    const bool exact = by.role == inference::role::rungs;
    inference::way each{by.role, by.name, by.call, {}, [&, exact] { return drawn.defect(out.get(), exact); }};
    each.arguments.d_in = in.get();
    each.arguments.d_second = columns.get();
    each.arguments.d_out = out.get();
    each.arguments.num_rows = shape.num_rows;
    each.arguments.num_columns = shape.num_columns;
    each.arguments.levels = uniforms.get();
    each.arguments.init = &shape;
    cell.ways.push_back(each);
  }
  all.measure(cell);
}

// Request r is refused at draft r % (num_drafts + 1), or at none where that is num_drafts.
class drafted_requests {
 public:
  explicit drafted_requests(const verification_shape& shape)
      : shape_(shape), items_(shape.items()), uniforms_(shape.target_rows()), drafted_(shape.draft_rows()) {
    inference::in_parallel(items_.size() / shape.num_tokens, [this](std::size_t first, std::size_t last) {
      for (std::size_t row = first; row < last; ++row) {
        const auto own = std::span(items_).subspan(row * shape_.num_tokens, shape_.num_tokens);
        for (std::size_t i = 0; i < own.size(); ++i) own[i] = logit_of(logits::flat, row * own.size() + i);
        become_shares(own);
      }
    });
    for (std::size_t i = 0; i < uniforms_.size(); ++i) uniforms_[i] = uniform(~i);
    for (std::size_t r = 0; r < shape.num_requests; ++r)
      for (std::size_t i = 0; i < shape.num_drafts; ++i) {
        const std::size_t token = scattered(r * 16 + i) % shape.num_tokens;
        drafted_[r * shape.num_drafts + i] = static_cast<int>(token);
        draft(r, i)[token] = 0x1p-10f;
        target(r, i)[token] = i == refused_at(r) ? 0 : 0x1p-9f;
      }
  }

  std::size_t refused_at(std::size_t request) const { return request % (shape_.num_drafts + 1); }
  const std::vector<float>& items() const { return items_; }
  // Uniform numbers, and behind them the drafted tokens.
  std::vector<float> words() const {
    std::vector<float> all = uniforms_;
    for (const int token : drafted_) all.push_back(std::bit_cast<float>(token));
    return all;
  }
  // A refused request needs two rows, and one that is accepted one.
  std::size_t needed_rows() const {
    std::size_t rows = 0;
    for (std::size_t r = 0; r < shape_.num_requests; ++r) rows += refused_at(r) < shape_.num_drafts ? 2 : 1;
    return rows;
  }

  std::string defect(const void* d_out, bool exact) const {
    const std::size_t a_request = shape_.num_drafts + 1;
    const auto words = inference::on_host<int>(d_out, shape_.target_rows() + shape_.num_requests);
    return inference::wrong_row(shape_.num_requests, [&](std::size_t r) {
      const std::span tokens(words.data() + r * a_request, a_request);
      const auto right = right_one(r);
      if (words[shape_.target_rows() + r] != right.num_accepted) return false;
      const auto next = static_cast<std::size_t>(right.num_accepted);
      for (std::size_t i = 0; i < a_request; ++i)
        if ((exact || i != next) && tokens[i] != right.tokens[i]) return false;
      return exact || is_near_residual(r, next, tokens[next]);
    });
  }
  std::string defect_of_ratios(const void* d_out) const {
    const auto ratios = inference::on_host<float>(d_out, shape_.draft_rows());
    return inference::wrong_row(shape_.draft_rows(), [&](std::size_t row) {
      const std::size_t r = row / shape_.num_drafts, i = row % shape_.num_drafts;
      return ratios[row] == tests::greatest_ratio_on_host(copy_of(target(r, i)), copy_of(draft(r, i)));
    });
  }

 private:
  using row = std::span<const float>;
  std::span<float> mutable_row(std::size_t index) {
    return std::span(items_).subspan(index * shape_.num_tokens, shape_.num_tokens);
  }
  row row_at(std::size_t index) const { return row(items_).subspan(index * shape_.num_tokens, shape_.num_tokens); }
  std::size_t target_index(std::size_t r, std::size_t i) const { return r * (shape_.num_drafts + 1) + i; }
  std::size_t draft_index(std::size_t r, std::size_t i) const {
    return shape_.target_rows() + r * shape_.num_drafts + i;
  }
  std::span<float> target(std::size_t r, std::size_t i) { return mutable_row(target_index(r, i)); }
  std::span<float> draft(std::size_t r, std::size_t i) { return mutable_row(draft_index(r, i)); }
  row target(std::size_t r, std::size_t i) const { return row_at(target_index(r, i)); }
  row draft(std::size_t r, std::size_t i) const { return row_at(draft_index(r, i)); }
  static std::vector<float> copy_of(row from) { return {from.begin(), from.end()}; }
  double last_uniform(std::size_t r) const { return uniforms_[target_index(r, shape_.num_drafts)]; }

  tests::verified right_one(std::size_t r) const {
    std::vector<std::vector<float>> targets, drafts;
    std::vector<int> tokens;
    std::vector<double> uniforms;
    for (std::size_t i = 0; i <= shape_.num_drafts; ++i) targets.push_back(copy_of(target(r, i)));
    for (std::size_t i = 0; i < shape_.num_drafts; ++i) {
      drafts.push_back(copy_of(draft(r, i)));
      tokens.push_back(drafted_[r * shape_.num_drafts + i]);
      uniforms.push_back(uniforms_[target_index(r, i)]);
    }
    return tests::verify_on_host(targets, drafts, tokens, uniforms,
                                 tests::host_row::fraction_of(static_cast<float>(last_uniform(r))));
  }
  bool is_near_residual(std::size_t r, std::size_t at, int token) const {
    double sum = 0, before = 0, behind = 0;
    for (std::size_t i = 0; i < shape_.num_tokens; ++i) {
      const double refused = at < shape_.num_drafts ? draft(r, at)[i] : 0;
      if (static_cast<int>(i) == token) before = sum;
      sum += std::fmax(target(r, at)[i] - refused, 0);
      if (static_cast<int>(i) == token) behind = sum;
    }
    return behind > before && is_near(before, behind, sum, last_uniform(r));
  }

  verification_shape shape_;
  std::vector<float> items_;  // the target's rows, and behind them the draft's
  std::vector<float> uniforms_;
  std::vector<int> drafted_;
};

void measure_verification(inference::study& all, const verification_shape& shape) {
  inference::cell verified;
  verified.work = "verify";
  verified.input = "f32";
  verified.rows = shape.num_requests;
  verified.columns = shape.num_tokens;
  verified.parameter = std::to_string(shape.num_drafts) + (shape.num_drafts == 1 ? " draft" : " drafts");
  verified.data = "refused at each position alike";
  inference::cell ratios = verified;
  ratios.work = "greatest_ratio";
  ratios.data = "";
  if (!all.wants(verified) && !all.wants(ratios)) return;
  const drafted_requests requests(shape);
  verified.out_bytes = verified.written_bytes = (shape.target_rows() + shape.num_requests) * sizeof(int);
  verified.read_bytes = requests.needed_rows() * shape.num_tokens * sizeof(float);
  ratios.out_bytes = ratios.written_bytes = shape.draft_rows() * sizeof(float);
  ratios.read_bytes = 2 * shape.draft_rows() * shape.num_tokens * sizeof(float);
  const device_memory in = inference::on_device(requests.items()), words = inference::on_device(requests.words()),
                      out(verified.out_bytes);
  const auto add = [&](inference::cell& cell, const inference::named_call& by, const std::function<std::string()>& is) {
    inference::way each{by.role, by.name, by.call, {}, is};
    each.arguments.d_in = in.get();
    each.arguments.d_out = out.get();
    each.arguments.num_rows = shape.num_requests;
    each.arguments.num_columns = shape.num_tokens;
    each.arguments.levels = words.get();
    each.arguments.init = &shape;
    cell.ways.push_back(each);
  };
  for (inference::cell* const cell : {&verified, &ratios}) {
    cell->roof_in = in.get();
    cell->d_out = out.get();
  }
  for (const auto& by : ways_to_verify())
    add(verified, by, [&, exact = by.role == inference::role::rungs] { return requests.defect(out.get(), exact); });
  for (const auto& by : ways_to_greatest_ratios())
    add(ratios, by, [&] { return requests.defect_of_ratios(out.get()); });
  all.measure(verified);
  all.measure(ratios);
}

// 4,096 tokens of 32 heads of 128 dimensions.
constexpr std::size_t merged_rows = 131072, head = 128;
float value_of_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

// One part in 16 is masked.
void measure_merge(inference::study& all, std::size_t num_parts) {
  inference::cell cell;
  cell.work = "merge_attention";
  cell.input = "bf16";
  cell.rows = merged_rows;
  cell.columns = head;
  cell.parameter = std::to_string(num_parts) + " parts";
  if (!all.wants(cell)) return;
  std::vector<std::uint16_t> items(num_parts * merged_rows * head);
  std::vector<float> scores(num_parts * merged_rows);
  inference::in_parallel(scores.size(), [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      scores[i] = scattered(i) % 16 == 0 ? -INFINITY : 8 * uniform(i);
      for (std::size_t c = i * head; c < (i + 1) * head; ++c)
        items[c] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(uniform(c) - 0.5f) >> 16);
    }
  });
  const device_memory in = inference::on_device(items), second = inference::on_device(scores),
                      out(merged_rows * head * sizeof(std::uint16_t));
  std::size_t read_parts = 0;
  for (const float score : scores) read_parts += score > -INFINITY;
  cell.read_bytes = read_parts * head * sizeof(std::uint16_t) + scores.size() * sizeof(float);
  cell.out_bytes = cell.written_bytes = out.size();
  cell.roof_copies = true;
  cell.roof_in = in.get();
  cell.d_out = out.get();
  const auto defect = [&] {
    const auto merged = inference::on_host<std::uint16_t>(out.get(), merged_rows * head);
    return inference::wrong_row(merged_rows, [&](std::size_t row) {
      double sum = 0;
      std::vector<double> right(head), magnitudes(head);
      for (std::size_t part = 0; part < num_parts; ++part) {
        const std::size_t at = part * merged_rows + row;
        const double weight = std::exp(static_cast<double>(scores[at]));
        sum += weight;
        for (std::size_t c = 0; c < head; ++c) {
          const double value = value_of_bf16(items[at * head + c]);
          right[c] += weight * value;
          magnitudes[c] += weight * std::fabs(value);
        }
      }
      for (std::size_t c = 0; c < head; ++c) {
        const double expected = sum == 0 ? 0 : right[c] / sum, magnitude = sum == 0 ? 0 : magnitudes[c] / sum;
        const double tolerance = 0x1p-8 * std::fabs(expected) + 0x1p-18 * magnitude;  // a bf16 has eight bits
        if (!(std::fabs(value_of_bf16(merged[row * head + c]) - expected) <= tolerance)) return false;
      }
      return true;
    });
  };
  for (const auto& by : ways_to_merge()) {
    inference::way each{by.role, by.name, by.call, {}, defect};
    each.arguments.d_in = in.get();
    each.arguments.d_second = second.get();
    each.arguments.d_out = out.get();
    each.arguments.num_rows = merged_rows;
    each.arguments.num_columns = head;
    each.arguments.num_items = num_parts;
    cell.ways.push_back(each);
  }
  all.measure(cell);
}

void measure(inference::study& all) {
  for (const std::size_t num_parts : {2, 8}) measure_merge(all, num_parts);
  for (const sampling_shape& shape : shapes) measure_sampling(all, shape);
  for (const verification_shape& shape : verifications) measure_verification(all, shape);
}

}  // namespace
}  // namespace rungs::bench

int main(int argc, char** argv) {
  return rungs::bench::inference::run("rungs_sampling", argc, argv, rungs::bench::measure);
}
