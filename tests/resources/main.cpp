// rungs_resources [--kernels] FOLDER...: judges the compiler's report on every kernel beside the objects (*.cu.o) in
// these folders; --kernels only lists the mangled names of ours.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string_view>

#include "resources/ptxas.hpp"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  using namespace rungs::tests::resources;
  const bool list = argc > 1 && std::string_view(argv[1]) == "--kernels";
  if (argc < (list ? 3 : 2) || std::string_view(argv[1]) == "--help") {
    std::cerr << "rungs_resources [--kernels] FOLDER...: no kernel of ours may spill or use a stack frame; --kernels "
                 "lists them\n";
    return 2;
  }
  std::vector<kernel> kernels;
  std::size_t objects = 0, bad = 0;
  for (int i = list ? 2 : 1; i < argc; ++i) {
    std::error_code error;
    for (const auto& file : fs::recursive_directory_iterator(argv[i], error)) {
      const std::string name = file.path().string();
      if (!name.ends_with(".cu.o")) continue;
      ++objects;
      std::ifstream in(name + ".ptxas");
      std::ostringstream text;
      if (in.peek() != std::ifstream::traits_type::eof()) text << in.rdbuf();
      try {
        if (!fs::exists(name + ".ptxas"))
          throw std::runtime_error("the compiler's report is missing: build through the CMake target");
        const auto more = parse(text.str());
        kernels.insert(kernels.end(), more.begin(), more.end());
      } catch (const std::exception& problem) {
        std::cout << name << ": " << problem.what() << '\n';
        ++bad;
      }
    }
    if (error) {
      std::cerr << "rungs_resources: " << argv[i] << ": " << error.message() << '\n';
      return 2;
    }
  }
  if (list) {
    bool any = false;
    for (const kernel& k : kernels) {
      if (!k.ours() || !k.is_entry) continue;
      std::cout << k.mangled << '\n';
      any = true;
    }
    if (!any) std::cerr << "rungs_resources: no kernel was found\n";
    return any && bad == 0 ? 0 : 1;
  }
  const judgement j = judge(kernels);
  for (const std::string& complaint : j.complaints) std::cout << complaint << '\n';
  int most = 0;
  for (const kernel& k : kernels)
    if (k.ours() && k.registers > most) most = k.registers;
  std::cout << objects << " objects, " << j.ours << " kernels of ours (at most " << most << " registers), " << j.others
            << " of libraries, " << j.complaints.size() << " complaints\n";
  if (j.ours == 0) std::cout << "no kernel was found: nothing was checked\n";
  return j.good() && bad == 0 ? 0 : 1;
}
