/* A reference to an element of a vector that grows.
 *
 *   question: --at stdout:score
 *   defect: 28
 */
#include <cstdio>
#include <string>
#include <vector>

struct Player {
    int id;
    int score;
};

static std::vector<Player> players;

static void join(int id) {
    Player p = {id, id * 10};
    players.push_back(p);
}

static int award(Player &p, int points) {
    p.score += points;
    return p.score;
}

static int round_of(int i, int points) {
    Player &p = players[i]; /* the defect: join moves the players */
    join(100 + i);
    int s = award(p, points);
    return s + players[i].score;
}

int main() {
    for (int i = 0; i < 4; i++)
        join(i);
    std::string filler(40, 'x');
    int s = round_of(2, 7);
    printf("score %d\n", s);
    return (int)filler.size() == 41;
}
