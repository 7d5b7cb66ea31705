#include "sizes.hpp"

#include <gtest/gtest.h>

#include "check.hpp"

namespace rungs::bench {
namespace {

TEST(Sizes, AreReadWithAndWithoutSuffix) {
  EXPECT_EQ(parse_size("1"), 1u);
  EXPECT_EQ(parse_size("1048576"), 1u << 20);
  EXPECT_EQ(parse_size("1Ki"), 1u << 10);
  EXPECT_EQ(parse_size("16Mi"), 16u << 20);
  EXPECT_EQ(parse_size("4Gi"), std::size_t{4} << 30);
  EXPECT_EQ(parse_sizes("1Ki,1000,16Mi"), (std::vector<std::size_t>{1024, 1000, 16u << 20}));
}

TEST(Sizes, RangesGrowByAFactor) {
  using list = std::vector<std::size_t>;
  EXPECT_EQ(parse_sizes("1Ki:8Ki"), (list{1024, 2048, 4096, 8192}));
  EXPECT_EQ(parse_sizes("1Ki:64Ki:4"), (list{1 << 10, 1 << 12, 1 << 14, 1 << 16}));
  EXPECT_EQ(parse_sizes("1000:5000,7,3:3"), (list{1000, 2000, 4000, 7, 3})) << "the end is only in it where it is met";
  EXPECT_EQ(parse_sizes("1:262144Gi").size(), 49u) << "up to the largest there is";
  EXPECT_EQ(parse_sizes("1:262144Gi:1Mi").size(), 3u);
}

TEST(Sizes, RefusalsOfRangesNameThem) {
  for (const auto& [text, word] : {std::pair{"8Ki:1Ki", "'8Ki:1Ki' ends before it begins"},
                                   {"1Ki:8Ki:1", "'1Ki:8Ki:1' goes nowhere"},
                                   {"1Ki:8Ki:2:2", "more than three parts"},
                                   {"1Ki:", "size ''"},
                                   {":8Ki", "size ''"},
                                   {"1Ki:8Ki:", "size ''"},
                                   {"1Ki:x", "size 'x'"},
                                   {"1Ki:8Ki:-2", "'-2' is negative"}}) {
    try {
      parse_sizes(text);
      ADD_FAILURE() << "accepted '" << text << "'";
    } catch (const usage_error& error) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  }
}

TEST(Sizes, RefusalsNameTheText) {
  for (const char* text : {"", "0", "0Ki", "-1", "-1Ki", "+1", "1.5Mi", "Mi", "1K", "1mi", "1Ti", " 1", "1 ", "0x10",
                           "1e6", "nan", "18446744073709551616", "18446744073709551615Gi", "300000Gi"}) {
    try {
      parse_size(text);
      ADD_FAILURE() << "accepted '" << text << "'";
    } catch (const usage_error& error) {
      EXPECT_NE(std::string(error.what()).find("'" + std::string(text) + "'"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(parse_sizes("1Ki,"), usage_error);
  EXPECT_THROW(parse_sizes(",1Ki"), usage_error);
  EXPECT_THROW(parse_sizes(""), usage_error);
}

TEST(Sizes, AreWrittenInTheShortestExactForm) {
  EXPECT_EQ(format_size(1), "1");
  EXPECT_EQ(format_size(1000), "1000");
  EXPECT_EQ(format_size(1024), "1Ki");
  EXPECT_EQ(format_size(1536), "1536");
  EXPECT_EQ(format_size((1u << 24) + 1), "16777217");
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{1000}, std::size_t{3} << 20, std::size_t{1} << 30, std::size_t{12345678901}})
    EXPECT_EQ(parse_size(format_size(size)), size);
}

}  // namespace
}  // namespace rungs::bench
