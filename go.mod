module hindsight

go 1.26
