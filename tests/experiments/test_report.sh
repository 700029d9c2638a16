#!/bin/sh
# couplet report, run as a user would run it, on runs of couplet synthetic. Argument: the program.
. "$(dirname "$0")/../system/report.sh"
couplet=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# The program's output and exit code, for a report on some folders.
report() { # words...
    "$couplet" report "$@" >said 2>&1
    echo "code $?" >>said
}

for rate in 0.001 0.01; do
    "$couplet" synthetic --quiet --steps 5 --repeats 2 --test 50 --lambda 1,10 --rate $rate --out "rate-$rate" </dev/null
done
report rate-0.001 rate-0.01 --out page.html
expect_success "two runs make one page" grep -q "Report of 2 runs: page.html" said
expect_success "the page has the option that differs" grep -q "<th>rate</th>" page.html
expect_success "an option that does not differ has no column" sh -c '! grep -q "<th>repeats</th>" page.html'
expect_success "the results are in the same table" grep -q "<th>hybrid: accuracy</th>" page.html
expect_success "captions explain the bars" \
    grep -q "mean over 2 repetitions, with bars of one standard deviation" page.html
expect_success "nothing is fetched from elsewhere" sh -c '! grep -o "http[^\" ]*" page.html | grep -v "^http://www.w3.org/2000/svg"'

report rate-0.001 rate-0.01 --out page.html --figures paper
expect_success "figures for papers have two widths" \
    sh -c 'grep -q "width=\"85mm\"" paper/2-*-85mm.svg && grep -q "width=\"178mm\"" paper/2-*-178mm.svg'
expect_success "as many for each run" test "$(ls paper/1-*.svg | wc -l)" -eq "$(ls paper/2-*.svg | wc -l)"
report rate-0.001 --figures paper/1-*-85mm.svg
expect_success "a file is not a folder for figures" grep -q "code 1" said
report rate-0.001 rate-0.01 --out page.html

mkdir broken unfinished
echo '{"experiment": ' >broken/config.json
cp rate-0.01/config.json unfinished/
report rate-0.001 broken unfinished --out page.html
expect_success "damaged and unfinished runs are counted" \
    grep -q "Report of 3 runs, 1 not finished, 1 damaged: page.html" said
expect_success "the damage is reported with file and line" grep -q "broken/config.json: JSON, line 2" said
expect_success "if a folder is damaged the exit code is 1" grep -q "code 1" said
expect_success "and the page lists the damaged folder" grep -q "Folders that cannot be read" page.html

report broken --out none.html
expect_success "without any readable folder no page is made" sh -c 'grep -q "code 1" said && ! test -e none.html'
report rate-0.001 nowhere --out none.html
expect_success "a missing folder is refused" sh -c 'grep -q "no such folder" said && ! test -e none.html'

# ---- folders from somebody else, and names that would drive a terminal ----

command -v timeout >/dev/null && limit="timeout 1200"
mkdir waiting && mkfifo waiting/config.json
$limit "$couplet" report waiting --out none.html >said 2>&1
expect_success "report does not wait for a FIFO" grep -q "waiting/config.json: this is a pipe" said
$limit "$couplet" train phantom --out waiting >said 2>&1
expect_success "nor does train" grep -q "waiting/config.json: this is a pipe" said

sed 's/"hybrid"/"hy\\u001bbrid"/' rate-0.01/result.json >rate-0.01/changed && mv rate-0.01/changed rate-0.01/result.json
again="synthetic --steps 5 --repeats 2 --test 50 --lambda 1,10 --rate 0.01 --out rate-0.01"
"$couplet" $again >said 2>&1 </dev/null
escape=$(printf '\033')
expect_success "a finished run is shown without control characters" sh -c "grep -q 'hy?brid' said && ! grep -q '$escape' said"
expect_empty "and with --quiet nothing is shown" "$("$couplet" $again --quiet 2>&1 </dev/null)"
"$couplet" data "a${escape}b.npz" >said 2>&1
expect_success "nor do messages have them" sh -c "grep -q 'a?b.npz' said && ! grep -q '$escape' said"
finish
