# compile-commands.awk: converts the output of `make -n` to compile_commands.json. `folder`: the folder in which make runs.
BEGIN { print "[" }
/ -o [^ ]+ .*\.(c|S)( |$)/ && !/^printf|^:/ {
    command = $0
    sub(/^.*mkdir -p [^;]*; /, "", command)
    words = split(command, word, " ")
    gsub(/\\/, "\\\\\\\\", command)
    gsub(/"/, "\\\\\"", command)
    for (i = 1; i <= words; i++) {
        if (word[i] !~ /^[^-'].*\.(c|S)$/ || word[i] in seen)
            continue
        seen[word[i]] = 1
        printf "%s{\"directory\": \"%s\", \"file\": \"%s\", \"command\": \"%s\"}", count++ ? ",\n" : "", folder, word[i], command
    }
}
END { print "\n]" }
