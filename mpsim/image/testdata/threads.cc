#include <map>
#include <string>
#include <iostream>
#include <vector>
#include <thread>
#include <mutex>
namespace bank { struct Account { int balance=0; std::mutex m; static int total; void add(int x){ std::lock_guard<std::mutex> g(m); balance+=x; total+=x; } }; int Account::total; Account acc; }
std::map<std::string,int> words;
int main(){ std::vector<std::thread> t; for(int i=0;i<4;i++) t.emplace_back([i]{ bank::acc.add(i); }); for(auto&x:t)x.join(); words["a"]++; std::cout<<bank::acc.balance<<words.size()<<"\n"; }
