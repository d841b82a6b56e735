/* A cuDNN and a driver that are tables of the test's own, for the parts that speak to them: slots
 * that a test leaves empty answer as functions that are not there. */
#ifndef VENDOR_FIXTURE_H
#define VENDOR_FIXTURE_H

#include "check.h"
#include "cudnn/bind/driver.h"
#include "cudnn/bind/real.h"

static struct cs_real vendor;
static struct cs_driver driver;

const struct cs_real *cs_real(void)
{
    return &vendor;
}

const struct cs_real *cs_real_completed(void)
{
    return cs_real();
}

const struct cs_driver *cs_driver(void)
{
    return &driver;
}

#endif
