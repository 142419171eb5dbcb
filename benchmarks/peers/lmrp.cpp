// Times libMultiRobotPlanning's CBS on boards from stdin. Its example program is compiled in as it stands (grid environment, conflicts
// and constraints are the peer's own); only its main is put aside and its search can be stopped at a limit. See README.md beside this file.
//
//   lmrp SECONDS [SCRATCH]      the limit a board
#define main peer_main
#include "example/cbs.cpp"
#undef main

#include <cstdlib>

#include "boards.hpp"

namespace {
struct OutOfTime {};

// The peer's environment, with a look at the clock every 256 low-level expansions and at every high-level one.
class StoppableEnvironment : public Environment {
 public:
  StoppableEnvironment(int size, std::unordered_set<Location> obstacles, std::vector<Location> goals, double begin, double limit)
      : Environment(size, size, std::move(obstacles), std::move(goals)), m_begin(begin), m_limit(limit) {}

  void onExpandHighLevelNode(int cost) {
    look();
    Environment::onExpandHighLevelNode(cost);
  }

  void onExpandLowLevelNode(const State& state, int f, int g) {
    if ((++m_expanded & 255) == 0) look();
    Environment::onExpandLowLevelNode(state, f, g);
  }

 private:
  void look() {
    if (now() - m_begin > m_limit) throw OutOfTime();
  }

  double m_begin;
  double m_limit;
  unsigned m_expanded = 0;
};
}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: lmrp SECONDS" << std::endl;
    return 2;
  }
  const double limit = std::atof(argv[1]);
  // Its own messages would mix with the results.
  std::cout.setstate(std::ios_base::failbit);
  return serve([&](const Board& board) -> Result {
    const int n = board.size;
    const double begin = now();
    std::unordered_set<Location> obstacles;
    std::vector<Location> goals;
    std::vector<State> starts;
    for (int hole : board.holes) obstacles.insert(Location(hole % n, hole / n));
    for (int start : board.starts) starts.emplace_back(0, start % n, start / n);
    for (int goal : board.goals) goals.emplace_back(goal % n, goal / n);
    StoppableEnvironment environment(n, std::move(obstacles), std::move(goals), begin, limit);
    CBS<State, Action, int, Conflict, Constraints, StoppableEnvironment> cbs(environment);
    std::vector<PlanResult<State, Action, int>> solution;
    try {
      const bool found = cbs.search(starts, solution);
      const double seconds = now() - begin;
      int cost = 0;
      for (const auto& path : solution) cost += path.cost;
      return {found ? "solved" : "failed", found ? cost : -1, seconds};
    } catch (const OutOfTime&) {
      return {"timeout", -1, now() - begin};
    }
  });
}
