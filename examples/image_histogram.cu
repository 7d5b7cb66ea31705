// How often each value of red, green and blue stands in an image of RGBA pixels: three histograms in one pass.
#include <rungs/device/device_histogram.cuh>

#include "example.hpp"

int main() {
  const int width = 1920, height = 1080, num_pixels = width * height;
  const array<unsigned char> image(std::size_t{4} * num_pixels);
  const array<unsigned> counts(3 * 256);
  for (int pixel = 0; pixel < num_pixels; ++pixel)
    for (int channel = 0; channel < 4; ++channel)
      image[std::size_t{4} * pixel + channel] =
          static_cast<unsigned char>(pixel % width / (channel + 2) + pixel / width);

  unsigned* const histograms[3] = {&counts[0], &counts[256], &counts[512]};
  const int num_levels[3] = {257, 257, 257}, lower_level[3] = {0, 0, 0}, upper_level[3] = {256, 256, 256};
  rungs::workspace workspace;
  check(rungs::DeviceHistogram::MultiHistogramEven<4, 3>(workspace, image.data(), histograms, num_levels, lower_level,
                                                         upper_level, num_pixels));
  check(cudaDeviceSynchronize());

  unsigned expected[3][256] = {};
  for (int pixel = 0; pixel < num_pixels; ++pixel)
    for (int channel = 0; channel < 3; ++channel) ++expected[channel][image[std::size_t{4} * pixel + channel]];
  bool is_right = true;
  for (int i = 0; i < 3 * 256; ++i) is_right = is_right && counts[i] == expected[i / 256][i % 256];
  std::printf("of %d pixels %u are 255 in red: ", num_pixels, counts[255]);
  return verdict(is_right);
}
