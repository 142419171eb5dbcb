// Times CBSH2-RTC on boards from stdin. Links the peer's own sources; see README.md beside this file.
//
//   cbsh2 SECONDS SCRATCH       the limit a board; a folder for the map and scenario that the peer reads
//
// Everything is the peer's default but corridor reasoning, which is off: on tiny boards it is not sound. Timed are its constructor (the
// distance tables) and the search; reading the files is not.
#include "CBS.h"

#include <cstdlib>
#include <fstream>

#include "boards.hpp"

namespace {
void writeFiles(const Board& board, const string& map, const string& scenario) {
  const int n = board.size;
  vector<string> rows(n, string(n, '.'));
  for (int hole : board.holes) rows[hole / n][hole % n] = '@';
  ofstream maps(map);
  maps << "type octile\nheight " << n << "\nwidth " << n << "\nmap\n";
  for (const string& row : rows) maps << row << "\n";
  ofstream scenarios(scenario);
  scenarios << "version 1\n";
  for (size_t i = 0; i < board.starts.size(); i++) {
    const int s = board.starts[i], g = board.goals[i];
    // The column stands first.
    scenarios << i << "\tmap\t" << n << "\t" << n << "\t" << s % n << "\t" << s / n << "\t" << g % n << "\t" << g / n << "\t0\n";
  }
}
}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    cerr << "usage: cbsh2 SECONDS SCRATCH" << endl;
    return 2;
  }
  const double limit = atof(argv[1]);
  const string map = string(argv[2]) + "/board.map", scenario = string(argv[2]) + "/board.scen";
  // Its own messages would mix with the results.
  cout.setstate(std::ios_base::failbit);
  return serve([&](const Board& board) -> Result {
    writeFiles(board, map, scenario);
    const Instance instance(map, scenario, int(board.starts.size()));
    srand(0);
    const double begin = now();
    CBS cbs(instance, false, 0);
    cbs.setPrioritizeConflicts(true);
    cbs.setDisjointSplitting(false);
    cbs.setBypass(true);
    cbs.setRectangleReasoning(rectangle_strategy::GR);
    cbs.setCorridorReasoning(corridor_strategy::NC);
    cbs.setHeuristicType(heuristics_type::WDG);
    cbs.setTargetReasoning(true);
    cbs.setMutexReasoning(false);
    cbs.setSavingStats(false);
    cbs.setNodeLimit(MAX_NODES);
    cbs.clear();
    cbs.solve(limit, 0);
    const double seconds = now() - begin;
    const Result result{cbs.solution_found ? "solved" : seconds < limit ? "failed" : "timeout", cbs.solution_found ? cbs.solution_cost : -1, seconds};
    cbs.clearSearchEngines();
    return result;
  });
}
