#!/bin/sh
# nvidia-smi of the simulated GPU, for programs that query it before they take memory: used memory is 0.
LD_PRELOAD='' exec awk -v capacity="$SIMDEV_CAPACITY" -v count="${SIMDEV_DEVICES:-1}" '
function member(name) {
    if (match(profile, "\"" name "\":\"[^\"]*\"")) return substr(profile, RSTART + length(name) + 4, RLENGTH - length(name) - 5)
    if (match(profile, "\"" name "\":[0-9]+")) return substr(profile, RSTART + length(name) + 3, RLENGTH - length(name) - 3)
    return ""
}
function value(field, gpu) {
    if (field in fixed) return fixed[field]
    if (field == "index") return gpu
    if (field ~ /^(uuid|gpu_uuid)$/) return sprintf("GPU-00000000-0000-0000-0000-%012d", gpu)
    if (field ~ /^(pci\.bus_id|gpu_bus_id)$/) return sprintf("00000000:%02X:00.0", gpu + 1)
    return "[N/A]"
}
function unit(field) {
    if (nounits) return ""
    return field ~ /^memory\./ ? " MiB" : field ~ /^utilization\./ ? " %" : field ~ /^power\./ ? " W" : ""
}
function wanted(gpu) { return only == "" || index("," only ",", "," gpu ",") }
BEGIN {
    while ((getline line < ENVIRON["SIMDEV_PROFILE"]) > 0) profile = profile line
    total = int((capacity ? capacity : member("totalGlobalMem")) / 1048576)
    cuda = member("driverVer"); version = member("deviceVer")
    fixed["name"] = fixed["gpu_name"] = member("deviceName")
    fixed["count"] = count
    fixed["driver_version"] = cuda >= 13000 ? "580.00" : "525.00"
    fixed["compute_cap"] = int(version / 100) "." int(version % 100 / 10)
    fixed["memory.total"] = fixed["memory.free"] = total
    fixed["memory.used"] = fixed["memory.reserved"] = fixed["utilization.gpu"] = fixed["utilization.memory"] = 0
    fixed["temperature.gpu"] = 30
    for (i = 1; i < ARGC; i++) {
        argument = ARGV[i]
        if (argument ~ /^--query-/) { query = argument; sub(/=.*/, "", query); sub(/^[^=]*=/, "", argument); fields = argument }
        else if (argument ~ /^--format=/) { noheader = argument ~ /noheader/; nounits = argument ~ /nounits/ }
        else if (argument == "-i") only = ARGV[++i]
        else if (argument ~ /^--id=/) { only = argument; sub(/^--id=/, "", only) }
        else if (argument ~ /^(-L|--list-gpus)$/) list = 1
        else { print "nvidia-smi of the simulated GPU: option " argument " is not supported" > "/dev/stderr"; exit 2 }
    }
    if (list) {
        for (gpu = 0; gpu < count; gpu++) print "GPU " gpu ": " fixed["name"] " (UUID: " value("uuid", gpu) ")"
    } else if (query == "--query-gpu") {
        fields_count = split(fields, field, / *, */)
        for (i = 1; !noheader && i <= fields_count; i++) {
            u = unit(field[i]); sub(/^ /, "", u)
            printf "%s%s%s", field[i], u ? " [" u "]" : "", i < fields_count ? ", " : "\n"
        }
        for (gpu = 0; gpu < count; gpu++)
            for (i = 1; wanted(gpu) && i <= fields_count; i++)
                printf "%s%s%s", value(field[i], gpu), unit(field[i]), i < fields_count ? ", " : "\n"
    } else if (query != "") {
        if (!noheader) print fields
    } else {
        print "NVIDIA-SMI " fixed["driver_version"] "   Driver Version: " fixed["driver_version"] "   CUDA Version: " int(cuda / 1000) "." int(cuda % 1000 / 10)
        for (gpu = 0; gpu < count; gpu++)
            if (wanted(gpu)) print "| " gpu "  " fixed["name"] " | 0MiB / " total "MiB | 0% Default | simulated |"
    }
}' "$@"
