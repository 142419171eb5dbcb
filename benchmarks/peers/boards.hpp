// Boards from stdin, results to stdout, one a line each: what the drivers of all peers share.
//
//   in:  size holes hole… agents (start goal)…      cells are row·size + column
//   out: status cost seconds                        status: solved | timeout | failed
//
// Seconds are of processor time, so that other work on the machine does not count. A board that took less than 50 ms is solved twice again
// and the shortest time is told.
#pragma once
#include <time.h>

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

struct Board {
  int size = 0;
  std::vector<int> holes, starts, goals;
};

struct Result {
  const char* status;
  int cost;
  double seconds;
};

// Processor time of this process, in seconds.
inline double now() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

inline bool readBoard(std::istream& in, Board& board) {
  std::string line;
  if (!std::getline(in, line)) return false;
  std::istringstream words(line);
  int count = 0;
  board = Board();
  words >> board.size >> count;
  for (int i = 0, cell; i < count && words >> cell; i++) board.holes.push_back(cell);
  words >> count;
  for (int i = 0, start, goal; i < count && words >> start >> goal; i++) {
    board.starts.push_back(start);
    board.goals.push_back(goal);
  }
  return bool(words);
}

template <typename Solve>
int serve(Solve solve) {
  Board board;
  while (readBoard(std::cin, board)) {
    Result best = solve(board);
    for (int again = 0; again < 2 && best.seconds < 0.05; again++) {
      const Result other = solve(board);
      if (other.seconds < best.seconds) best = other;
    }
    std::printf("%s %d %.9f\n", best.status, best.cost, best.seconds);
    std::fflush(stdout);
  }
  return 0;
}
